#pragma once
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC11) for one counter or for a register of counters.
//
// A 128-bit counter and a 64-bit key go in, 128 random bits come out; there is no state to keep. The words
// stay in 64-bit lanes, of which only the lower halves count: that is what the wide multiplication reads.

#include <array>
#include <cstdint>
#include <onward/simd/batch.hpp>

namespace onward::random {

/// Four 32-bit words, each in the lower half of a 64-bit integer (or of each lane of a batch of those).
template <class Word>
using Block = std::array<Word, 4>;

namespace detail {

inline std::uint64_t multiply_low_halves(std::uint64_t a, std::uint64_t b) {
  return std::uint64_t{static_cast<std::uint32_t>(a)} * static_cast<std::uint32_t>(b);
}

inline simd::Batch<std::uint64_t> multiply_low_halves(const simd::Batch<std::uint64_t>& a,
                                                      const simd::Batch<std::uint64_t>& b) {
#if defined(__AVX512F__)
  return _mm512_maskz_mul_epu32(0xff, a, b);
#elif defined(__AVX2__)
  return _mm256_mul_epu32(a, b);
#elif defined(__SSE2__)
  return _mm_mul_epu32(a, b);
#else
  const simd::Batch<std::uint64_t> low(0xffffffffu);
  return (a & low) * (b & low);
#endif
}

/// The upper half of each product, as a lower half; the rest is arbitrary.
inline std::uint64_t upper_half(std::uint64_t x) { return x >> 32; }

inline simd::Batch<std::uint64_t> upper_half(const simd::Batch<std::uint64_t>& x) {
#if defined(__AVX512F__)
  // A shuffle rather than a shift: the shift's port is the multiplication's.
  return _mm512_maskz_shuffle_epi32(0xffff, x, _MM_PERM_DDBB);
#else
  return simd::detail::shift_right<32>(x);
#endif
}

}  // namespace detail

/// The random words of a counter; the upper halves of what is returned are arbitrary. Several counters go in
/// step, because each round waits for the one before.
template <class Word, std::size_t N>
[[gnu::always_inline]] inline std::array<Block<Word>, N> philox_in_step(std::array<Block<Word>, N> c,
                                                                        std::uint64_t key) {
  const Word m0(std::uint64_t{0xD2511F53}), m1(std::uint64_t{0xCD9E8D57});
  const Word w0(std::uint64_t{0x9E3779B9}), w1(std::uint64_t{0xBB67AE85});
  Word k0(key), k1(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (auto& b : c) {
      const Word p0 = detail::multiply_low_halves(b[0], m0);
      const Word p1 = detail::multiply_low_halves(b[2], m1);
      b = {Word(detail::upper_half(p1) ^ (b[1] ^ k0)), p1, Word(detail::upper_half(p0) ^ (b[3] ^ k1)), p0};
    }
    k0 += w0;
    k1 += w1;
  }
  return c;
}

/// The same for one counter.
template <class Word>
[[gnu::always_inline]] inline Block<Word> philox(const Block<Word>& counter, std::uint64_t key) {
  return random::philox_in_step(std::array<Block<Word>, 1>{counter}, key)[0];
}

}  // namespace onward::random
