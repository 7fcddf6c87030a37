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

/// 2^-31 ... as whole + fraction: the upper 21 bits of `high` above the 32 of `low`, offset by 2^31 and 1/2.
/// The bits are put behind an exponent for which the last place is 2^-21 (2^-53): no conversion, nothing to
/// round.
template <class T>
Pair<T> offset_fraction(const simd::bits_t<T>& low, const simd::bits_t<T>& high) {
  using B = simd::bits_t<T>;
  const B half(std::uint64_t{0xffffffff});
  const B upper = simd::detail::shift_right<11>(B(high & half)) | B(std::bit_cast<std::uint64_t>(0x1p31));
  const B lower = B(low & half) | B(std::bit_cast<std::uint64_t>(0.5));
  return {simd::from_bits<T>(upper), simd::from_bits<T>(lower)};
}

/// k 2^-53 for the 53-bit number k of two words: in [0, 1), exact.
template <class T>
T fraction(const simd::bits_t<T>& low, const simd::bits_t<T>& high) {
  const auto [a, b] = offset_fraction<T>(low, high);
  return (a - T(0x1p31 + 0.5)) + b;
}

/// 1 - fraction: in (0, 1], exact.
template <class T>
T one_minus_fraction(const simd::bits_t<T>& low, const simd::bits_t<T>& high) {
  const auto [a, b] = offset_fraction<T>(low, high);
  return (T(0x1p31 + 1.5) - a) - b;
}

/// The two uniforms of a block.
template <class T>
Pair<T> uniform_pair(const random::Block<simd::bits_t<T>>& w) {
  const T least(0x1p-54);
  return {simd::max(fraction<T>(w[0], w[1]), least), simd::max(fraction<T>(w[2], w[3]), least)};
}

/// The two normals of a block.
template <class T>
Pair<T> normal_pair(const random::Block<simd::bits_t<T>>& w) {
  const T radius = simd::sqrt(T(T(-2.0) * simd::detail::log_normal(one_minus_fraction<T>(w[0], w[1]))));
  const auto [s, c] = simd::sincos_2pi(fraction<T>(w[2], w[3]));
  return {radius * c, radius * s};
}

struct MakeUniforms {
  template <class T>
  static Pair<T> pair(const random::Block<simd::bits_t<T>>& w) {
    return uniform_pair<T>(w);
  }
};

struct MakeNormals {
  template <class T>
  static Pair<T> pair(const random::Block<simd::bits_t<T>>& w) {
    return normal_pair<T>(w);
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

/// A sequence of one chain: a register holds consecutive blocks.
template <class Make>
void fill(std::uint64_t seed, std::uint32_t chain, std::uint64_t step, Purpose purpose,
          std::span<double> out) {
  const std::size_t n = out.size();
  auto c = counter<Words>(lane_numbers(), step, purpose, Words(std::uint64_t{chain}));
  for (std::size_t i = 0; i < n; i += 2 * width) {
    const auto [low, high] = interleave(Make::template pair<Real>(random::philox(c, seed)));
    c[0] += Words(std::uint64_t{width});
    double* to = out.data() + i;
    const std::size_t left = n - i;
    if (left >= 2 * width) {
      low.store_unaligned(to);
      high.store_unaligned(to + width);
    } else if (left >= width) {
      low.store_unaligned(to);
      simd::store_partial(to + width, left - width, high);
    } else {
      simd::store_partial(to, left, low);
    }
  }
}

/// The same sequence of several chains: a register holds one block of each.
template <class Make>
void fill(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t step, Purpose purpose,
          std::span<Real> out) {
  const Words chains = Words(std::uint64_t{first_chain}) + lane_numbers();
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const auto c = counter<Words>(Words(std::uint64_t{i / 2}), step, purpose, chains);
    const auto [even, odd] = Make::template pair<Real>(random::philox(c, seed));
    out[i] = even;
    if (i + 1 < out.size()) out[i + 1] = odd;
  }
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
  const auto c = counter<std::uint64_t>(index / 2, step, purpose, chain);
  const auto [even, odd] = Make::template pair<double>(random::philox(c, seed));
  return index % 2 == 0 ? even : odd;
}

template <class Make>
Real one_element_batch(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t step, Purpose purpose,
                       std::uint64_t index) {
  const Words chains = Words(std::uint64_t{first_chain}) + lane_numbers();
  const auto c = counter<Words>(Words(index / 2), step, purpose, chains);
  const auto [even, odd] = Make::template pair<Real>(random::philox(c, seed));
  return index % 2 == 0 ? even : odd;
}

}  // namespace

std::array<std::uint32_t, 4> Stream::block(std::uint64_t step, Purpose purpose, std::uint32_t index) const {
  const auto w = random::philox(counter<std::uint64_t>(index, step, purpose, chain_), seed_);
  return {static_cast<std::uint32_t>(w[0]), static_cast<std::uint32_t>(w[1]),
          static_cast<std::uint32_t>(w[2]), static_cast<std::uint32_t>(w[3])};
}

void Stream::uniforms(std::uint64_t step, Purpose purpose, std::span<double> out) const {
  fill<MakeUniforms>(seed_, chain_, step, purpose, out);
}

void Stream::normals(std::uint64_t step, Purpose purpose, std::span<double> out) const {
  fill<MakeNormals>(seed_, chain_, step, purpose, out);
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
  return one_element_batch<MakeUniforms>(seed_, first_chain_, step, purpose, index);
}

StreamBatch::Real StreamBatch::normal(std::uint64_t step, Purpose purpose, std::uint64_t index) const {
  return one_element_batch<MakeNormals>(seed_, first_chain_, step, purpose, index);
}

}  // namespace onward
