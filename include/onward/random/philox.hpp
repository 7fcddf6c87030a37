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

}  // namespace detail

/// The random words of a counter; the upper halves of what is returned are arbitrary.
template <class Word>
inline Block<Word> philox(const Block<Word>& counter, std::uint64_t key) {
  const Word m0(std::uint64_t{0xD2511F53}), m1(std::uint64_t{0xCD9E8D57});
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  Block<Word> c = counter;
  for (int round = 0; round < 10; ++round) {
    const Word p0 = detail::multiply_low_halves(c[0], m0);
    const Word p1 = detail::multiply_low_halves(c[2], m1);
    c = {Word(simd::detail::shift_right<32>(p1) ^ (c[1] ^ Word(std::uint64_t{k0}))), p1,
         Word(simd::detail::shift_right<32>(p0) ^ (c[3] ^ Word(std::uint64_t{k1}))), p0};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

}  // namespace onward::random
