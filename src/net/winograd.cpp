#include "winograd.hpp"

#include <algorithm>
#include <utility>

#include "onward/simd/batch.hpp"

namespace onward::net {
namespace {

using Lanes = simd::Batch<float>;
constexpr std::size_t lanes = simd::lanes_v<Lanes>;

constexpr std::size_t outputs = 4, kernel = Winograd::kernel, points = outputs + kernel - 1,
                      pairs = points * points;

/// Tiles at a time: evaluated inputs and products of some layers' worth stay in the second-level cache.
constexpr std::size_t most_tiles = 24;

// A block of tiles x registers of channels is summed in registers: 24 of the 32 that AVX-512 has, 12 of 16.
constexpr std::size_t block_tiles = lanes == 16 ? 12 : 6, block_registers = 2;

/// From a pair of points to the next, in floats. The cache line in between keeps 36 streams from falling into
/// the same few sets of the first-level cache.
constexpr std::size_t pair_stride(std::size_t channels) { return most_tiles * channels + 16; }

constexpr float a = 5.0f / 8, b = 3.0f / 2, a2 = a * a, b2 = b * b;

using Points = std::array<Lanes, points>;

/// Multiplies by the transposed Vandermonde-like matrix: a row is the polynomial that vanishes at all points
/// but one.
inline Points evaluate_inputs(const Points& d) {
  constexpr float sum = a2 + b2, product = a2 * b2;
  const auto both = [](const Lanes& even, const Lanes& odd) { return std::pair(even + odd, even - odd); };
  const auto [plus_a, minus_a] =
      both(simd::mul_add(Lanes(-b2), d[2], d[4]), Lanes(a) * simd::mul_add(Lanes(-b2), d[1], d[3]));
  const auto [plus_b, minus_b] =
      both(simd::mul_add(Lanes(-a2), d[2], d[4]), Lanes(b) * simd::mul_add(Lanes(-a2), d[1], d[3]));
  return {simd::mul_add(Lanes(product), d[0], simd::mul_add(Lanes(-sum), d[2], d[4])),
          plus_a,
          minus_a,
          plus_b,
          minus_b,
          simd::mul_add(Lanes(product), d[1], simd::mul_add(Lanes(-sum), d[3], d[5]))};
}

/// Values of g0 + g1 x + g2 x^2 at the points, over the products of their distances from the others.
inline Points evaluate_weights(const Lanes& g0, const Lanes& g1, const Lanes& g2) {
  constexpr float at_0 = 1 / (a2 * b2), at_a = 1 / (2 * a2 * (a2 - b2)), at_b = 1 / (2 * b2 * (b2 - a2));
  const Lanes even_a = Lanes(at_a) * simd::mul_add(Lanes(a2), g2, g0), odd_a = Lanes(at_a * a) * g1,
              even_b = Lanes(at_b) * simd::mul_add(Lanes(b2), g2, g0), odd_b = Lanes(at_b * b) * g1;
  return {Lanes(at_0) * g0, even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b, g2};
}

/// Sums of products with the points' powers 0 to 3.
inline std::array<Lanes, outputs> to_outputs(const Points& m) {
  const Lanes sum_a = m[1] + m[2], sum_b = m[3] + m[4], difference_a = m[1] - m[2],
              difference_b = m[3] - m[4];
  return {m[0] + sum_a + sum_b, simd::mul_add(Lanes(a), difference_a, Lanes(b) * difference_b),
          simd::mul_add(Lanes(a2), sum_a, Lanes(b2) * sum_b),
          simd::mul_add(Lanes(a2 * a), difference_a, simd::mul_add(Lanes(b2 * b), difference_b, m[5]))};
}

/// evaluated[tile][input] weights[input][output], in registers.
struct Factor {
  const float* evaluated;
  const float* weights;
};

template <std::size_t tiles, std::size_t registers, std::size_t factors>
void block(std::size_t inputs, const std::array<Factor, 2>& factor, float* out, std::size_t out_stride) {
  std::array<std::array<Lanes, registers>, tiles> sums;
  for (auto& sum : sums) sum.fill(Lanes(0.0f));
  for (std::size_t f = 0; f < factors; ++f) {
    const float* in = factor[f].evaluated;
    const float* weights = factor[f].weights;
    for (std::size_t i = 0; i < inputs; ++i, weights += registers * lanes) {
      std::array<Lanes, registers> w;
      for (std::size_t r = 0; r < registers; ++r) w[r] = Lanes::load_aligned(weights + r * lanes);
      for (std::size_t t = 0; t < tiles; ++t) {
        const Lanes x(in[t * inputs + i]);
        for (std::size_t r = 0; r < registers; ++r) sums[t][r] = simd::mul_add(x, w[r], sums[t][r]);
      }
    }
  }
  for (std::size_t t = 0; t < tiles; ++t)
    for (std::size_t r = 0; r < registers; ++r) sums[t][r].store_aligned(out + t * out_stride + r * lanes);
}

/// All tiles, of some outputs at a pair of points.
template <std::size_t registers, std::size_t factors>
void column(std::size_t tiles, std::size_t inputs, std::array<Factor, 2> factor, float* out,
            std::size_t out_stride) {
  std::size_t first = 0;
  for (; first + block_tiles <= tiles; first += block_tiles) {
    block<block_tiles, registers, factors>(inputs, factor, out + first * out_stride, out_stride);
    for (Factor& each : factor) each.evaluated += block_tiles * inputs;
  }
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    ((tiles - first == n + 1
          ? block<n + 1, registers, factors>(inputs, factor, out + first * out_stride, out_stride)
          : void()),
     ...);
  }
  (std::make_index_sequence<block_tiles - 1>{});
}

}  // namespace

bool Winograd::takes(const Layout::Step& step) {
  const auto* conv = std::get_if<Conv2d>(&step.layer);
  if (!conv || conv->kernel_height != kernel || conv->kernel_width != kernel || conv->stride != 1)
    return false;
  const Winograd made(step.in, step.out, conv->padding);
  return step.in.channels % lanes == 0 && step.out.channels % lanes == 0 &&
         made.down_ * made.across_ * outputs * outputs <= 2 * step.out.height * step.out.width;
}

Winograd::Winograd(const Shape& in, const Shape& out, std::size_t padding)
    : in_(in),
      out_(out),
      padding_(padding),
      down_((out.height + outputs - 1) / outputs),
      across_((out.width + outputs - 1) / outputs) {}

Winograd::Place Winograd::place(std::size_t tile) const {
  return {tile / (down_ * across_), tile / across_ % down_ * outputs, tile % across_ * outputs};
}

std::size_t Winograd::packed_size() const { return pairs * in_.channels * out_.channels; }

// A pair of points has the outputs' registers, two by two, and of those the inputs in order.
template <class Weight>
void Winograd::pack_each(const Weight& weight, float* out) const {
  const std::size_t inputs = in_.channels, all = out_.channels;
  for (std::size_t first = 0; first < all; first += lanes) {
    const std::size_t column = first / (block_registers * lanes) * (block_registers * lanes),
                      width = std::min(block_registers * lanes, all - column);
    for (std::size_t i = 0; i < inputs; ++i) {
      alignas(Lanes) std::array<float, kernel * kernel * lanes> weights;
      for (std::size_t o = 0; o < lanes; ++o)
        for (std::size_t k = 0; k < kernel * kernel; ++k) weights[k * lanes + o] = weight(first + o, i, k);
      const auto at = [&](std::size_t y, std::size_t x) {
        return Lanes::load_aligned(weights.data() + (y * kernel + x) * lanes);
      };
      std::array<Points, kernel> columns;
      for (std::size_t x = 0; x < kernel; ++x) columns[x] = evaluate_weights(at(0, x), at(1, x), at(2, x));
      for (std::size_t y = 0; y < points; ++y) {
        const Points line = evaluate_weights(columns[0][y], columns[1][y], columns[2][y]);
        for (std::size_t x = 0; x < points; ++x)
          line[x].store_aligned(out + (y * points + x) * inputs * all + column * inputs + i * width + first -
                                column);
      }
    }
  }
}

void Winograd::pack(const float* plain, float* out) const {
  pack_each([&](std::size_t o, std::size_t i,
                std::size_t k) { return plain[(o * in_.channels + i) * kernel * kernel + k]; },
            out);
}

void Winograd::pack_backward(const float* plain, float* out) const {
  pack_each(
      [&](std::size_t o, std::size_t i, std::size_t k) {
        return plain[(i * out_.channels + o) * kernel * kernel + kernel * kernel - 1 - k];
      },
      out);
}

/// out[pair of points][tile][channel].
void Winograd::evaluate(const float* in, std::size_t first, std::size_t tiles, float* out) const {
  const std::size_t channels = in_.channels, stride = pair_stride(channels);
  alignas(Lanes) static constexpr std::array<float, lanes> zeros{};
  const auto evaluate_tile = [&](const auto& at, float* to) {
    for (std::size_t c = 0; c < channels; c += lanes) {
      std::array<Points, points> columns;
      for (std::size_t x = 0; x < points; ++x) {
        Points pixels;
        for (std::size_t y = 0; y < points; ++y) pixels[y] = at(y, x, c);
        columns[x] = evaluate_inputs(pixels);
      }
      for (std::size_t y = 0; y < points; ++y) {
        Points line;
        for (std::size_t x = 0; x < points; ++x) line[x] = columns[x][y];
        line = evaluate_inputs(line);
        for (std::size_t x = 0; x < points; ++x) line[x].store_aligned(to + (y * points + x) * stride + c);
      }
    }
  };
  for (std::size_t t = 0; t < tiles; ++t) {
    const Place tile = place(first + t);
    const float* image = in + tile.row * in_.size();
    float* to = out + t * channels;
    if (tile.y >= padding_ && tile.x >= padding_ && tile.y + points <= in_.height + padding_ &&
        tile.x + points <= in_.width + padding_) {
      const float* corner = image + ((tile.y - padding_) * in_.width + tile.x - padding_) * channels;
      evaluate_tile(
          [&](std::size_t y, std::size_t x, std::size_t c) {
            return Lanes::load_aligned(corner + (y * in_.width + x) * channels + c);
          },
          to);
      continue;
    }
    evaluate_tile(
        [&](std::size_t y, std::size_t x, std::size_t c) {
          // Above and left of the image both wrap around to large numbers.
          const std::size_t row = tile.y + y - padding_, column = tile.x + x - padding_;
          const bool inside = row < in_.height && column < in_.width;
          return Lanes::load_aligned(inside ? image + (row * in_.width + column) * channels + c
                                            : zeros.data());
        },
        to);
  }
}

/// out[pair of points][tile][channel].
void Winograd::multiply(const Sum& sum, std::size_t tiles, const float* evaluated, float* out) const {
  const std::size_t inputs = in_.channels, all = out_.channels, in_stride = pair_stride(inputs),
                    out_stride = pair_stride(all);
  for (std::size_t pair = 0; pair < pairs; ++pair)
    for (std::size_t first = 0; first < all; first += block_registers * lanes) {
      std::array<Factor, 2> factors;
      for (std::size_t f = 0; f < factors.size(); ++f) {
        const Term& term = sum.terms[std::min(f, sum.count - 1)];
        factors[f] = {evaluated + (term.part * pairs + pair) * in_stride,
                      term.weights + (pair * all + first) * inputs};
      }
      float* to = out + pair * out_stride + first;
      if (all - first < block_registers * lanes)
        sum.count == 1 ? column<1, 1>(tiles, inputs, factors, to, all)
                       : column<1, 2>(tiles, inputs, factors, to, all);
      else
        sum.count == 1 ? column<block_registers, 1>(tiles, inputs, factors, to, all)
                       : column<block_registers, 2>(tiles, inputs, factors, to, all);
    }
}

void Winograd::interpolate(const Sum& sum, std::size_t first, std::size_t tiles,
                           const float* products) const {
  const std::size_t channels = out_.channels, stride = pair_stride(channels);
  const Lanes zero(0.0f);
  for (std::size_t t = 0; t < tiles; ++t) {
    const Place tile = place(first + t);
    const std::size_t height = std::min(outputs, out_.height - tile.y),
                      width = std::min(outputs, out_.width - tile.x);
    float* corner = sum.out + tile.row * out_.size() + (tile.y * out_.width + tile.x) * channels;
    for (std::size_t c = 0; c < channels; c += lanes) {
      const float* from = products + t * channels + c;
      std::array<std::array<Lanes, outputs>, points> columns;
      for (std::size_t x = 0; x < points; ++x) {
        Points at;
        for (std::size_t y = 0; y < points; ++y)
          at[y] = Lanes::load_aligned(from + (y * points + x) * stride);
        columns[x] = to_outputs(at);
      }
      const Lanes bias = sum.bias ? Lanes::load_unaligned(sum.bias + c) : zero;
      for (std::size_t y = 0; y < height; ++y) {
        Points at;
        for (std::size_t x = 0; x < points; ++x) at[x] = columns[x][y];
        const auto line = to_outputs(at);
        for (std::size_t x = 0; x < width; ++x) {
          Lanes pixel = line[x] + bias;
          if (sum.relu) pixel = simd::select(pixel < zero, zero, pixel);  // what is not a number stays so
          pixel.store_aligned(corner + (y * out_.width + x) * channels + c);
        }
      }
    }
  }
}

void Winograd::forward(std::size_t rows, const Stack& in, std::span<const Sum> sums, Floats& scratch) const {
  const std::size_t part = pairs * pair_stride(in_.channels), tiles = rows * down_ * across_,
                    needed = in.parts * part + pairs * pair_stride(out_.channels);
  if (scratch.size() < needed) scratch.resize(needed);
  float* products = scratch.data() + in.parts * part;
  for (std::size_t first = 0; first < tiles; first += most_tiles) {
    const std::size_t count = std::min(most_tiles, tiles - first);
    for (std::size_t j = 0; j < in.parts; ++j) evaluate(in.part(j), first, count, scratch.data() + j * part);
    for (const Sum& sum : sums) {
      multiply(sum, count, scratch.data(), products);
      interpolate(sum, first, count, products);
    }
  }
}

}  // namespace onward::net
