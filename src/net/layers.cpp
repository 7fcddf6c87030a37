#include "layers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "onward/simd/elementary.hpp"

namespace onward::net {
namespace {

using Lanes = simd::Batch<float>;
constexpr std::size_t lanes = simd::lanes_v<Lanes>;

/// A relu's value. What is not a number stays so, or sums that overflow would end as plain densities.
Lanes kept_or_0(const Lanes& x) { return simd::select(x < Lanes(0.0f), Lanes(0.0f), x); }

/// Whether a maximum moves on from a to b; to what is not a number, and then no further.
bool is_larger(float b, float a) { return b > a || b != b; }

/// A function with its first and half its second derivative.
struct Curve {
  Lanes value, slope, half_curvature;
};

struct Relu {
  Curve operator()(const Lanes& x) const {
    const auto on = x > Lanes(0.0f);
    return {kept_or_0(x), simd::select(on, Lanes(1.0f), Lanes(0.0f)), Lanes(0.0f)};
  }
};

struct Tanh {
  Curve operator()(const Lanes& x) const {
    const Lanes t = simd::tanh(x);
    const Lanes slope = Lanes(1.0f) - t * t;
    return {t, slope, simd::neg(Lanes(t * slope))};
  }
};

struct Softplus {
  Curve operator()(const Lanes& x) const {
    const Lanes one(1.0f);
    const Lanes e = simd::exp(simd::neg(simd::abs(x)));
    const Lanes part = one / (one + e);
    const Lanes logistic = simd::select(x >= Lanes(0.0f), part, Lanes(e * part));
    return {simd::max(x, Lanes(0.0f)) + simd::log1p(e), logistic, Lanes(0.5f) * e * part * part};
  }
};

struct Gelu {
  // erfc by formula 7.1.26 of Abramowitz and Stegun, error 1.5e-7: float has no more, and the normal density
  // is at hand for the derivatives anyway.
  Curve operator()(const Lanes& x) const {
    const Lanes one(1.0f);
    const Lanes z = simd::abs(x) * Lanes(static_cast<float>(std::numbers::sqrt2 / 2));
    const Lanes e = simd::exp(simd::neg(Lanes(z * z)));
    const Lanes t = one / (one + Lanes(0.3275911f) * z);
    Lanes polynomial(1.061405429f);
    for (const float c : {-1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f})
      polynomial = polynomial * t + Lanes(c);
    const Lanes tail = Lanes(0.5f) * polynomial * t * e;  // Phi(-|x|)
    const Lanes cdf = simd::select(x >= Lanes(0.0f), Lanes(one - tail), tail);
    const Lanes density = e * Lanes(static_cast<float>(std::numbers::inv_sqrtpi / std::numbers::sqrt2));
    return {x * cdf, cdf + x * density, density * (one - Lanes(0.5f) * x * x)};
  }
};

/// What the third part of a stack is.
enum class Third { none, curvature, slope };

/// One register of each part.
template <class Function>
void activate_lanes(const Function& function, const std::array<const float*, 3>& in,
                    const std::array<float*, 3>& out, std::size_t parts_in, Third third) {
  const Curve curve = function(Lanes::load_unaligned(in[0]));
  curve.value.store_unaligned(out[0]);
  if (parts_in < 2) return;
  const Lanes slope = Lanes::load_unaligned(in[1]);
  Lanes(curve.slope * slope).store_unaligned(out[1]);
  if (third == Third::none) return;
  if (third == Third::slope) {
    Lanes(curve.slope * Lanes::load_unaligned(in[2])).store_unaligned(out[2]);
    return;
  }
  Lanes curvature = curve.half_curvature * slope * slope;
  if (parts_in > 2) curvature = curvature + curve.slope * Lanes::load_unaligned(in[2]);
  curvature.store_unaligned(out[2]);
}

template <class Function>
void activate_by(const Function& function, const Stack& in, Stack& out, std::size_t n, Third third) {
  out.parts = in.parts == 1 ? 1 : third == Third::none ? 2 : 3;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    activate_lanes(function, {in.part(0) + i, in.part(1) + i, in.part(2) + i},
                   {out.part(0) + i, out.part(1) + i, out.part(2) + i}, in.parts, third);
  if (i == n) return;
  alignas(Lanes) std::array<std::array<float, lanes>, 3> rest_in{}, rest_out{};
  for (std::size_t j = 0; j < in.parts; ++j) std::copy(in.part(j) + i, in.part(j) + n, rest_in[j].begin());
  activate_lanes(function, {rest_in[0].data(), rest_in[1].data(), rest_in[2].data()},
                 {rest_out[0].data(), rest_out[1].data(), rest_out[2].data()}, in.parts, third);
  for (std::size_t j = 0; j < out.parts; ++j) std::copy_n(rest_out[j].begin(), n - i, out.part(j) + i);
}

template <class Function>
void slopes_by(const Function& function, const float* in, const float* by_out, float* by_in, std::size_t n) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Curve curve = function(Lanes::load_unaligned(in + i));
    Lanes(curve.slope * Lanes::load_unaligned(by_out + i)).store_unaligned(by_in + i);
  }
  if (i == n) return;
  alignas(Lanes) std::array<float, lanes> x{}, by{};
  std::copy(in + i, in + n, x.begin());
  std::copy(by_out + i, by_out + n, by.begin());
  Lanes(function(Lanes::load_aligned(x.data())).slope * Lanes::load_aligned(by.data()))
      .store_aligned(by.data());
  std::copy_n(by.begin(), n - i, by_in + i);
}

template <class Do>
void with_function(ActivationKind kind, const Do& use) {
  switch (kind) {
    case ActivationKind::relu:
      return use(Relu{});
    case ActivationKind::tanh:
      return use(Tanh{});
    case ActivationKind::gelu:
      return use(Gelu{});
    case ActivationKind::softplus:
      return use(Softplus{});
  }
}

/// Where a window begins, in numbers from the beginning of a row.
std::size_t window(const Pool& layer, const Shape& in, std::size_t y, std::size_t x) {
  return (y * layer.stride * in.width + x * layer.stride) * in.channels;
}

/// Takes over whatever is larger at the new place.
void take_larger(std::size_t channels, std::size_t parts, const Stack& in, const Stack& out) {
  const float* __restrict value = in.part(0);
  float* __restrict best = out.part(0);
  for (std::size_t j = 1; j < parts; ++j) {
    const float* __restrict from = in.part(j);
    float* __restrict to = out.part(j);
    for (std::size_t c = 0; c < channels; ++c) to[c] = is_larger(value[c], best[c]) ? from[c] : to[c];
  }
  for (std::size_t c = 0; c < channels; ++c) best[c] = is_larger(value[c], best[c]) ? value[c] : best[c];
}

/// The usual pooling, of values alone: two by two in one pass.
void largest_of_four(std::size_t channels, const float* __restrict above, const float* __restrict below,
                     float* __restrict best) {
  const auto larger = [](float a, float b) { return is_larger(b, a) ? b : a; };
  for (std::size_t c = 0; c < channels; ++c)
    best[c] = larger(larger(larger(above[c], above[channels + c]), below[c]), below[channels + c]);
}

/// Derivatives go to the first place that has the best value.
void hand_over(std::size_t channels, const float* __restrict value, const float* __restrict best,
               float* __restrict left, float* __restrict by_value) {
  for (std::size_t c = 0; c < channels; ++c) {
    const bool here = value[c] == best[c];
    by_value[c] += here ? left[c] : 0.0f;
    left[c] = here ? 0.0f : left[c];
  }
}

Stack moved(const Stack& stack, std::size_t by) { return {stack.data + by, stack.stride, stack.parts}; }

}  // namespace

void relu(float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0.0f : x[i];
}

void mask_by_value(const Stack& stack, std::size_t n) {
  const float* __restrict value = stack.part(0);
  for (std::size_t j = 1; j < stack.parts; ++j) {
    float* __restrict part = stack.part(j);
    for (std::size_t i = 0; i < n; ++i) part[i] = value[i] > 0 ? part[i] : 0.0f;
  }
}

void activate(ActivationKind kind, const Stack& in, Stack& out, std::size_t n, std::size_t order) {
  const bool straight = kind == ActivationKind::relu && in.parts < 3;
  const Third third = order < 2 || straight ? Third::none : Third::curvature;
  with_function(kind, [&](const auto& function) { activate_by(function, in, out, n, third); });
}

void activate_two(ActivationKind kind, const Stack& in, Stack& out, std::size_t n) {
  with_function(kind, [&](const auto& function) { activate_by(function, in, out, n, Third::slope); });
  out.parts = in.parts;
}

void activate_backward(ActivationKind kind, const float* in, const float* out, const float* by_out,
                       float* by_in, std::size_t n) {
  if (kind == ActivationKind::relu) {  // what went in may not have been kept
    for (std::size_t i = 0; i < n; ++i) by_in[i] = out[i] > 0 ? by_out[i] : 0.0f;
    return;
  }
  with_function(kind, [&](const auto& function) { slopes_by(function, in, by_out, by_in, n); });
}

void pool(const Pool& layer, const Shape& in_shape, const Shape& out_shape, std::size_t rows, bool masks,
          const Stack& in, Stack& out) {
  out.parts = in.parts;
  const std::size_t channels = in_shape.channels;
  const float share = 1 / static_cast<float>(layer.size * layer.size);
  std::size_t at = 0;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t y = 0; y < out_shape.height; ++y)
      for (std::size_t x = 0; x < out_shape.width; ++x, at += channels) {
        const std::size_t from = row * in_shape.size() + window(layer, in_shape, y, x);
        const Stack to = moved(out, at);
        if (in.parts == 1 && layer.size == 2 && layer.kind == PoolKind::max) {
          const float* above = in.part(0) + from;
          largest_of_four(channels, above, above + in_shape.width * channels, to.data);
          continue;
        }
        for (std::size_t j = 0; j < in.parts; ++j) std::copy_n(in.part(j) + from, channels, to.part(j));
        for (std::size_t i = 1; i < layer.size * layer.size; ++i) {
          const std::size_t next = from + (i / layer.size * in_shape.width + i % layer.size) * channels;
          if (layer.kind == PoolKind::max) {
            take_larger(channels, in.parts, moved(in, next), to);
            continue;
          }
          for (std::size_t j = 0; j < in.parts; ++j)
            for (std::size_t c = 0; c < channels; ++c) to.part(j)[c] += in.part(j)[next + c];
        }
        if (layer.kind == PoolKind::average)
          for (std::size_t j = 0; j < in.parts; ++j)
            for (std::size_t c = 0; c < channels; ++c) to.part(j)[c] *= share;
        if (masks) mask_by_value(to, channels);
      }
}

void pool_backward(const Pool& layer, const Shape& in_shape, const Shape& out_shape, std::size_t rows,
                   const float* in, const float* by_out, float* by_in) {
  const std::size_t channels = in_shape.channels;
  const float share = 1 / static_cast<float>(layer.size * layer.size);
  std::fill_n(by_in, rows * in_shape.size(), 0.0f);
  Floats best(channels), left(channels);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t y = 0; y < out_shape.height; ++y)
      for (std::size_t x = 0; x < out_shape.width; ++x, by_out += channels) {
        const std::size_t from = row * in_shape.size() + window(layer, in_shape, y, x);
        const auto place = [&](std::size_t i) {
          return from + (i / layer.size * in_shape.width + i % layer.size) * channels;
        };
        if (layer.kind == PoolKind::average) {
          for (std::size_t i = 0; i < layer.size * layer.size; ++i)
            for (std::size_t c = 0; c < channels; ++c) by_in[place(i) + c] += share * by_out[c];
          continue;
        }
        std::copy_n(in + place(0), channels, best.data());
        for (std::size_t i = 1; i < layer.size * layer.size; ++i)
          for (std::size_t c = 0; c < channels; ++c) best[c] = std::max(best[c], in[place(i) + c]);
        std::copy_n(by_out, channels, left.data());
        for (std::size_t i = 0; i < layer.size * layer.size; ++i)
          hand_over(channels, in + place(i), best.data(), left.data(), by_in + place(i));
      }
}

void channels_first(const Shape& shape, std::size_t rows, const float* in, float* out) {
  const std::size_t pixels = shape.height * shape.width;
  for (std::size_t row = 0; row < rows; ++row, in += shape.size(), out += shape.size())
    for (std::size_t c = 0; c < shape.channels; ++c)
      for (std::size_t i = 0; i < pixels; ++i) out[c * pixels + i] = in[i * shape.channels + c];
}

void channels_last(const Shape& shape, std::size_t rows, const float* in, float* out) {
  const std::size_t pixels = shape.height * shape.width;
  for (std::size_t row = 0; row < rows; ++row, in += shape.size(), out += shape.size())
    for (std::size_t i = 0; i < pixels; ++i)
      for (std::size_t c = 0; c < shape.channels; ++c) out[i * shape.channels + c] = in[c * pixels + i];
}

void scale_channels(std::size_t channels, std::size_t pixels, const float* affine, const float* moves,
                    const Stack& in, Stack& out, std::size_t order) {
  out.parts = moves ? std::min(in.parts + 1, order + 1) : in.parts;
  const float *scale = affine, *shift = affine + channels;
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::size_t at = i * channels;
    // From the highest part down: each is made from itself and the one below.
    for (std::size_t j = out.parts; j-- > 0;) {
      float* to = out.part(j) + at;
      const float* from = in.part(j) + at;
      if (j < in.parts)
        for (std::size_t c = 0; c < channels; ++c) to[c] = scale[c] * from[c] + (j == 0 ? shift[c] : 0.0f);
      else
        std::fill_n(to, channels, 0.0f);
      if (!moves || j == 0) continue;
      const float* below = in.part(j - 1) + at;
      for (std::size_t c = 0; c < channels; ++c)
        to[c] += moves[c] * below[c] + (j == 1 ? moves[channels + c] : 0.0f);
    }
  }
}

void scale_channels_two(std::size_t channels, std::size_t pixels, const float* affine,
                        const std::array<const float*, 2>& moves, const Stack& in, Stack& out) {
  out.parts = moves[0] || moves[1] ? 3 : in.parts;
  const float *scale = affine, *shift = affine + channels;
  for (std::size_t at = 0; at < pixels * channels; at += channels) {
    const float* value = in.part(0) + at;
    for (std::size_t j = 1; j < out.parts; ++j) {
      const float* change = moves[j - 1];
      for (std::size_t c = 0; c < channels; ++c) {
        float sum = j < in.parts ? scale[c] * in.part(j)[at + c] : 0.0f;
        if (change) sum += change[c] * value[c] + change[channels + c];
        out.part(j)[at + c] = sum;
      }
    }
    for (std::size_t c = 0; c < channels; ++c) out.part(0)[at + c] = scale[c] * value[c] + shift[c];
  }
}

void add(const Stack& a, const Stack& b, Stack& out, std::size_t n) {
  const std::size_t parts = std::max(a.parts, b.parts);
  for (std::size_t j = 0; j < parts; ++j) {
    float* to = out.part(j);
    if (j < a.parts && j < b.parts)
      for (std::size_t i = 0; i < n; ++i) to[i] = a.part(j)[i] + b.part(j)[i];
    else if (const float* from = (j < a.parts ? a : b).part(j); from != to)
      std::copy_n(from, n, to);
  }
  out.parts = parts;
}

}  // namespace onward::net
