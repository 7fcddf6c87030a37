#pragma once
// The rule of log I₀, the logarithm of the modified Bessel function of order 0: what normalises the von Mises
// density.

#include "onward/ad/rule_tools.hpp"

namespace onward::ad::rule {

/// log I₀(x) for x >= 0. Its first derivative is I₁/I₀. Power series up to 20 (all terms are positive, so
/// nothing cancels), from there the expansion for large arguments, I₀ = eˣ S(1/x) / sqrt(2πx), whose terms
/// shrink to e⁻⁴⁰ there.
struct LogBesselI0 {
  template <int N, class T>
  constexpr Unary<T> at(const T& x) const {
    return by_parts<N>(simd::abs(x), x > num<T>(20));
  }

 private:
  template <int N, class T>
  static constexpr Unary<T> by_parts(const T& x, const simd::mask_t<T>& large) {
    if (!simd::any(large)) return near<N>(x);
    if (simd::all(large)) return far<N>(x);
    const Unary<T> f = near<N>(x), g = far<N>(x);
    return {simd::select(large, g.value, f.value), simd::select(large, g.first, f.first),
            simd::select(large, g.second, f.second)};
  }

  template <int N, class T>
  static constexpr Unary<T> near(const T& any) {
    const T x = simd::select(any > num<T>(20), num<T>(20), any);  // of lanes that are not wanted
    const T t = num<T>(0.25) * (x * x);
    T i0 = T(1), i1 = T(1);  // I₁ = x/2 times this
    for (int k = 40; k >= 1; --k) {
      i0 = T(1) + num<T>(1.0 / (k * k)) * t * i0;
      i1 = T(1) + num<T>(1.0 / (k * (k + 1))) * t * i1;
    }
    const T f = simd::log(i0);
    if constexpr (N == 0) return {f};
    const T half = num<T>(0.5) * (i1 / i0), a = x * half;
    return {f, a, T(1) - half - a * a};
  }

  template <int N, class T>
  static constexpr Unary<T> far(const T& any) {
    const T x = simd::select(any > num<T>(20), any, num<T>(20));
    const T w = T(1) / x;
    T s = T(1), d = T(0), e = T(0);  // S and its derivatives by w
    for (int k = 30; k >= 1; --k) {
      const T c = num<T>((2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k));
      e = c * (num<T>(2) * d + w * e);
      d = c * (s + w * d);
      s = T(1) + c * w * s;
    }
    const T f = x - num<T>(0.5) * simd::log(num<T>(6.28318530717958647693) * x) + simd::log(s);
    if constexpr (N == 0) return {f};
    const T l = d / s, w2 = w * w;
    const T first = T(1) - num<T>(0.5) * w - w2 * l;
    return {f, first, w2 * (num<T>(0.5) + num<T>(2) * w * l + w2 * (e / s - l * l))};
  }
};

}  // namespace onward::ad::rule
