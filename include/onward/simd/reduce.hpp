#pragma once
// Sums in an order of their own: element i goes to partial sum i mod 8, and the eight are added by a fixed
// tree. The order depends on the length alone, not on the width of a register, so the bits do neither; and
// eight chains in the lanes of a batch get what each would get alone.

#include <cassert>
#include <onward/simd/batch.hpp>
#include <span>

namespace onward::simd {

namespace detail {

/// The eight partial sums added by halves, as a register would be folded.
template <Real T>
inline T fold(const std::array<T, 8>& s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

}  // namespace detail

/// The sum of x[i] y[i]; x and y are of one length.
template <Real T>
inline T dot(std::span<const std::type_identity_t<T>> x, std::span<const std::type_identity_t<T>> y) {
  assert(x.size() == y.size());
  const std::size_t n = x.size();
  std::size_t i = 0;
  if constexpr (std::same_as<T, double>) {
    using B = Batch<double>;
    constexpr std::size_t width = lanes_v<B>, parts = 8 / width;
    static_assert(8 % width == 0);
    std::array<B, parts> sums;
    sums.fill(B(0.0));
    for (; i + 8 <= n; i += 8)
      for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t at = i + p * width;
        sums[p] = simd::mul_add(B::load_unaligned(&x[at]), B::load_unaligned(&y[at]), sums[p]);
      }
    if (i < n)
      for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t at = i + p * width;
        const std::size_t left = at < n ? n - at : 0;
        const bool full = left >= width;
        const B a = full ? B::load_unaligned(x.data() + at) : simd::load_partial(x.data() + at, left);
        const B b = full ? B::load_unaligned(y.data() + at) : simd::load_partial(y.data() + at, left);
        sums[p] = simd::mul_add(a, b, sums[p]);
      }
    alignas(B) std::array<double, 8> s;
    for (std::size_t p = 0; p < parts; ++p) sums[p].store_aligned(&s[p * width]);
    return detail::fold(s);
  } else {
    const T zero(scalar_t<T>(0));
    std::array<T, 8> s;
    s.fill(zero);
    for (; i + 8 <= n; i += 8)
      for (std::size_t j = 0; j < 8; ++j) s[j] = simd::mul_add(x[i + j], y[i + j], s[j]);
    if (i < n)  // absent elements count as zeros, as above: it matters to the sign of a zero
      for (std::size_t j = 0; j < 8; ++j)
        s[j] = i + j < n ? simd::mul_add(x[i + j], y[i + j], s[j]) : simd::mul_add(zero, zero, s[j]);
    return detail::fold(s);
  }
}

/// The sum of x[i]^2.
template <Real T>
inline T sum_of_squares(std::span<const std::type_identity_t<T>> x) {
  return simd::dot<T>(x, x);
}

/// The sum of squares of a vector that comes in stretches, each but the last a multiple of 8 long: what
/// sum_of_squares() gives of the whole.
class SumOfSquares {
 public:
  void add(std::span<const double> x) {
    std::size_t i = 0;
    for (; i + 8 <= x.size(); i += 8)
      for (std::size_t j = 0; j < 8; ++j) parts_[j] = simd::mul_add(x[i + j], x[i + j], parts_[j]);
    for (std::size_t j = 0; i + j < x.size(); ++j) parts_[j] = simd::mul_add(x[i + j], x[i + j], parts_[j]);
  }
  double sum() const { return detail::fold(parts_); }

 private:
  std::array<double, 8> parts_{};
};

/// The sum of x[i] y[i] for plain numbers.
inline double dot(std::span<const double> x, std::span<const double> y) { return simd::dot<double>(x, y); }

/// The sum of x[i]^2 for plain numbers.
inline double sum_of_squares(std::span<const double> x) { return simd::dot<double>(x, x); }

}  // namespace onward::simd
