// Blocks of random bits into uniforms and normals, for one number and for a register of numbers alike.

#include <cassert>
#include <onward/random/philox.hpp>
#include <onward/random/stream.hpp>
#include <onward/simd/elementary.hpp>
#include <onward/simd/reduce.hpp>

namespace onward {

namespace {

using Real = simd::Batch<double>;
using Words = simd::Batch<std::uint64_t>;
constexpr std::size_t width = simd::lanes_v<Real>;
static_assert(simd::lanes_v<Words> == width);

template <class T>
struct Pair {
  T even, odd;  // of the two elements that a block gives
};

template <class T, std::size_t N>
using Blocks = std::array<random::Block<simd::bits_t<T>>, N>;

/// 0, 1, 2, ...: one for each lane.
Words lane_numbers() {
  alignas(Words) static constexpr std::array<std::uint64_t, 8> numbers = {0, 1, 2, 3, 4, 5, 6, 7};
  return Words::load_aligned(numbers.data());
}

/// The words of a counter that all of a sequence share, with c0 and c3 as given.
template <class Word>
random::Block<Word> counter(const Word& block, std::uint64_t step, Purpose purpose, const Word& chain) {
  assert(step >> 48 == 0);
  const std::uint64_t c2 = (step >> 32 & 0xffffu) | std::uint64_t{static_cast<std::uint16_t>(purpose)} << 16;
  return {block, Word(step & 0xffffffffu), Word(c2), chain};
}

/// The 53-bit fraction u = k 2^-53 in [0, 1) of two words (all of `low`, the upper 21 bits of `high`), times
/// `sign` * 2^-`down`, plus `plus`: exact if the result is a multiple of 2^(-53-down) not above 2^-down. The
/// bits are put behind exponents for which they stand in the right place, so that nothing is converted or
/// rounded.
template <class T, int sign, int down>
[[gnu::always_inline]] inline T fraction(const simd::bits_t<T>& low, const simd::bits_t<T>& high,
                                         double plus) {
  using B = simd::bits_t<T>;
  constexpr double scale = 1.0 / (1 << down);
  constexpr double above = 0x1p31 * scale, below = 0.5 * scale;  // last places 2^-21 and 2^-53, scaled
  const B half(std::uint64_t{0xffffffff}), upper(std::uint64_t{0x1fffff});
  const T a = simd::from_bits<T>(
      B((simd::detail::shift_right<11>(high) & upper) | B(std::bit_cast<std::uint64_t>(above))));
  const T b = simd::from_bits<T>(B((low & half) | B(std::bit_cast<std::uint64_t>(below))));
  if constexpr (sign > 0)
    return (a - T(above + below - plus)) + b;
  else
    return (T(above + below + plus) - a) - b;
}

/// Whether bit 1 of a word is set.
template <class T>
[[gnu::always_inline]] inline simd::mask_t<T> has_bit_1(const simd::bits_t<T>& word) {
#if defined(__AVX512F__)
  if constexpr (simd::is_batch_v<T>) return _mm512_test_epi64_mask(word, Words(std::uint64_t{2}));
#endif
  // -0.0 or 0.0, made -1 or 1 to be compared
  const auto sign = simd::detail::shift_left<63>(simd::detail::shift_right<1>(word));
  return simd::copysign(T(1.0), simd::from_bits<T>(sign)) < T(0.0);
}

/// The two uniforms of each block.
struct MakeUniforms {
  template <class T, std::size_t N>
  [[gnu::always_inline]] static std::array<Pair<T>, N> pairs(const Blocks<T, N>& blocks) {
    const T least(0x1p-54);
    std::array<Pair<T>, N> out;
    for (std::size_t j = 0; j < N; ++j) {
      const auto& w = blocks[j];
      out[j] = {simd::max(fraction<T, 1, 0>(w[0], w[1], 0.0), least),
                simd::max(fraction<T, 1, 0>(w[2], w[3], 0.0), least)};
    }
    return out;
  }
};

/// The two normals of each block. In stages, so that one block's division and square root pass behind
/// another's work.
struct MakeNormals {
  template <class T, std::size_t N>
  [[gnu::always_inline]] static std::array<Pair<T>, N> pairs(const Blocks<T, N>& blocks) {
    using B = simd::bits_t<T>;
    std::array<T, N> k, f, ratio, sine, cosine, radius;
    for (std::size_t j = 0; j < N; ++j) {  // log(1 - u), begun
      const auto parts = simd::detail::split(fraction<T, -1, 0>(blocks[j][0], blocks[j][1], 1.0));
      k[j] = parts.k;
      f[j] = parts.f;
      ratio[j] = f[j] / (T(2.0) + f[j]);
    }
    for (std::size_t j = 0; j < N;
         ++j) {  // a point of the quarter of the circle around (1, 0): (u' - 1/2) / 4 turns
      const auto point = simd::detail::sincos_2pi_arc(fraction<T, 1, 2>(blocks[j][2], blocks[j][3], -0.125));
      sine[j] = point.sin;
      cosine[j] = point.cos;
    }
    for (std::size_t j = 0; j < N; ++j)
      radius[j] = simd::sqrt(T(T(-2.0) * simd::detail::log_of_split(k[j], f[j], ratio[j], T(0.0))));
    std::array<Pair<T>, N> out;
    for (std::size_t j = 0; j < N; ++j) {
      // Perhaps mirrored to the quarter around (-1, 0), perhaps with coordinates exchanged: for a uniform
      // angle as good as turning by quarters, and cheaper.
      const B& w3 = blocks[j][3];
      const T x =
          simd::from_bits<T>(B(simd::to_bits(T(radius[j] * cosine[j])) ^ simd::detail::shift_left<63>(w3)));
      const T y = radius[j] * sine[j];
      const auto exchange = has_bit_1<T>(w3);
      out[j] = {simd::select(exchange, y, x), simd::select(exchange, x, y)};
    }
    return out;
  }
};

/// even0 odd0 even1 odd1 ...: the registers' lanes in the order of the elements.
Pair<Real> interleave(const Pair<Real>& p) {
#if defined(__AVX512F__)
  const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  return {Real(_mm512_permutex2var_pd(p.even, low, p.odd)),
          Real(_mm512_permutex2var_pd(p.even, high, p.odd))};
#else
  alignas(Real) std::array<double, width> even, odd;
  alignas(Real) std::array<double, 2 * width> both;
  p.even.store_aligned(even.data());
  p.odd.store_aligned(odd.data());
  for (std::size_t j = 0; j < width; ++j) {
    both[2 * j] = even[j];
    both[2 * j + 1] = odd[j];
  }
  return {Real::load_aligned(both.data()), Real::load_aligned(both.data() + width)};
#endif
}

/// The next N registers of the sequence of one chain; c counts the blocks, a register holds consecutive ones.
template <class Make, std::size_t N>
[[gnu::always_inline]] inline std::array<Pair<Real>, N> next(random::Block<Words>& c, std::uint64_t seed) {
  std::array<random::Block<Words>, N> blocks;
  for (auto& b : blocks) {
    b = c;
    c[0] += Words(std::uint64_t{width});
  }
  blocks = random::philox_in_step(blocks, seed);
  auto out = Make::template pairs<Real, N>(blocks);
  for (auto& pair : out) pair = interleave(pair);
  return out;
}

/// Writes as many groups of N registers as fit, from `to` on.
template <class Make, std::size_t N>
[[gnu::always_inline]] inline void fill_groups(random::Block<Words>& c, std::uint64_t seed, double*& to,
                                               std::size_t& left) {
  for (; left >= N * 2 * width; left -= N * 2 * width)
    for (const auto& [low, high] : next<Make, N>(c, seed)) {
      low.store_unaligned(to);
      high.store_unaligned(to + width);
      to += 2 * width;
    }
}

/// A sequence of one chain, from entry `first`, which is even.
template <class Make>
void fill(std::uint64_t seed, std::uint32_t chain, std::uint64_t step, Purpose purpose, std::size_t first,
          std::span<double> out) {
  assert(first % 2 == 0);
  auto c = counter<Words>(lane_numbers() + Words(std::uint64_t{first / 2}), step, purpose,
                          Words(std::uint64_t{chain}));
  double* to = out.data();
  std::size_t left = out.size();
  fill_groups<Make, 4>(c, seed, to, left);
  fill_groups<Make, 2>(c, seed, to, left);
  fill_groups<Make, 1>(c, seed, to, left);
  if (left == 0) return;
  const auto [low, high] = next<Make, 1>(c, seed)[0];
  if (left >= width) {
    low.store_unaligned(to);
    if (left > width) simd::store_partial(to + width, left - width, high);
  } else {
    simd::store_partial(to, left, low);
  }
}

/// Blocks `index`, ... of as many chains as there are lanes.
template <class Make, std::size_t N>
[[gnu::always_inline]] inline std::array<Pair<Real>, N> pairs_of_chains(std::uint64_t seed,
                                                                        std::uint32_t first_chain,
                                                                        std::uint64_t step, Purpose purpose,
                                                                        std::uint64_t index) {
  const Words chains = Words(std::uint64_t{first_chain}) + lane_numbers();
  std::array<random::Block<Words>, N> blocks;
  for (auto& b : blocks) b = counter<Words>(Words(index++), step, purpose, chains);
  blocks = random::philox_in_step(blocks, seed);
  return Make::template pairs<Real, N>(blocks);
}

/// Writes groups of N blocks from block `b` on, while that many remain of those that the span needs.
template <class Make, std::size_t N>
[[gnu::always_inline]] inline void fill_groups(std::uint64_t seed, std::uint32_t first_chain,
                                               std::uint64_t step, Purpose purpose, std::span<Real> out,
                                               std::size_t& b) {
  const std::size_t blocks = (out.size() + 1) / 2;
  for (; b + N <= blocks; b += N) {
    const auto pairs = pairs_of_chains<Make, N>(seed, first_chain, step, purpose, b);
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t i = 2 * (b + j);
      out[i] = pairs[j].even;
      if (i + 1 < out.size()) out[i + 1] = pairs[j].odd;
    }
  }
}

/// The same sequence of several chains: a register holds one block of each.
template <class Make>
void fill(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t step, Purpose purpose,
          std::span<Real> out) {
  std::size_t b = 0;
  fill_groups<Make, 4>(seed, first_chain, step, purpose, out, b);
  fill_groups<Make, 2>(seed, first_chain, step, purpose, out, b);
  fill_groups<Make, 1>(seed, first_chain, step, purpose, out, b);
}

/// Divides by the norm; a vector of zeros becomes the first axis.
template <class T>
void normalise(std::span<T> v) {
  if (v.empty()) return;
  const T one(1.0), zero(0.0);
  const T norm = simd::sqrt(simd::sum_of_squares<T>(v));
  const auto none = norm == zero;
  const T factor = simd::select(none, zero, T(one / norm));
  if constexpr (simd::is_batch_v<T>) {
    for (T& x : v) x *= factor;
  } else {
    const Real factors(factor);
    std::size_t i = 0;
    for (; i + width <= v.size(); i += width) (Real::load_unaligned(&v[i]) * factors).store_unaligned(&v[i]);
    if (i < v.size())
      simd::store_partial(&v[i], v.size() - i, simd::load_partial(&v[i], v.size() - i) * factors);
  }
  v[0] = simd::select(none, one, v[0]);
}

template <class Make>
double one_element(std::uint64_t seed, std::uint32_t chain, std::uint64_t step, Purpose purpose,
                   std::uint64_t index) {
  const auto w = random::philox(counter<std::uint64_t>(index / 2, step, purpose, chain), seed);
  const auto [even, odd] = Make::template pairs<double, 1>({w})[0];
  return index % 2 == 0 ? even : odd;
}

template <class Make>
Real one_element_of_chains(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t step, Purpose purpose,
                           std::uint64_t index) {
  const auto [even, odd] = pairs_of_chains<Make, 1>(seed, first_chain, step, purpose, index / 2)[0];
  return index % 2 == 0 ? even : odd;
}

}  // namespace

std::array<std::uint32_t, 4> Stream::block(std::uint64_t step, Purpose purpose, std::uint32_t index) const {
  const auto w = random::philox(counter<std::uint64_t>(index, step, purpose, chain_), seed_);
  return {static_cast<std::uint32_t>(w[0]), static_cast<std::uint32_t>(w[1]),
          static_cast<std::uint32_t>(w[2]), static_cast<std::uint32_t>(w[3])};
}

void Stream::uniforms(std::uint64_t step, Purpose purpose, std::span<double> out) const {
  fill<MakeUniforms>(seed_, chain_, step, purpose, 0, out);
}

void Stream::normals(std::uint64_t step, Purpose purpose, std::span<double> out) const {
  fill<MakeNormals>(seed_, chain_, step, purpose, 0, out);
}

void Stream::normals(std::uint64_t step, Purpose purpose, std::size_t first, std::span<double> out) const {
  fill<MakeNormals>(seed_, chain_, step, purpose, first, out);
}

void Stream::direction(std::uint64_t step, Purpose purpose, std::span<double> out) const {
  normals(step, purpose, out);
  normalise(out);
}

double Stream::uniform(std::uint64_t step, Purpose purpose, std::uint64_t index) const {
  return one_element<MakeUniforms>(seed_, chain_, step, purpose, index);
}

double Stream::normal(std::uint64_t step, Purpose purpose, std::uint64_t index) const {
  return one_element<MakeNormals>(seed_, chain_, step, purpose, index);
}

void StreamBatch::uniforms(std::uint64_t step, Purpose purpose, std::span<Real> out) const {
  fill<MakeUniforms>(seed_, first_chain_, step, purpose, out);
}

void StreamBatch::normals(std::uint64_t step, Purpose purpose, std::span<Real> out) const {
  fill<MakeNormals>(seed_, first_chain_, step, purpose, out);
}

void StreamBatch::direction(std::uint64_t step, Purpose purpose, std::span<Real> out) const {
  normals(step, purpose, out);
  normalise(out);
}

StreamBatch::Real StreamBatch::uniform(std::uint64_t step, Purpose purpose, std::uint64_t index) const {
  return one_element_of_chains<MakeUniforms>(seed_, first_chain_, step, purpose, index);
}

StreamBatch::Real StreamBatch::normal(std::uint64_t step, Purpose purpose, std::uint64_t index) const {
  return one_element_of_chains<MakeNormals>(seed_, first_chain_, step, purpose, index);
}

}  // namespace onward
