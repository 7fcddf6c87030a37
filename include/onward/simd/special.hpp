#pragma once
// The functions that no inner loop leans on: each lane goes through the C library (digamma: Boost.Math), so a
// number and a lane of a batch get the same bits without more ado.

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <onward/simd/elementary.hpp>

namespace onward::simd {

namespace detail {

inline double lgamma_thread_safe(double x) {
  int sign;  // std::lgamma leaves the sign in a global variable
  return ::lgamma_r(x, &sign);
}
inline float lgamma_thread_safe(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}

template <class S>
inline S digamma_or_nan(S x) {
  // Boost's loops need a finite argument that is not a pole.
  if (std::isnan(x) || x == std::numeric_limits<S>::infinity()) return x;
  if (x == S(0)) return std::copysign(std::numeric_limits<S>::infinity(), -x);
  if (x < S(0) && x == std::floor(x)) return std::numeric_limits<S>::quiet_NaN();  // poles, and -inf
  using namespace boost::math::policies;
  using Quiet = policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
                       evaluation_error<ignore_error>, promote_float<true>, promote_double<false>>;
  return boost::math::digamma(x, Quiet());
}

}  // namespace detail

/// The logarithm to base 2.
template <Real T>
inline T log2(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::log2(v); }, x);
}

/// The logarithm to base 10.
template <Real T>
inline T log10(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::log10(v); }, x);
}

/// The cube root.
template <Real T>
inline T cbrt(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::cbrt(v); }, x);
}

/// The tangent of x radians.
template <Real T>
inline T tan(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::tan(v); }, x);
}

/// The arc sine.
template <Real T>
inline T asin(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::asin(v); }, x);
}

/// The arc cosine.
template <Real T>
inline T acos(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::acos(v); }, x);
}

/// The arc tangent.
template <Real T>
inline T atan(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::atan(v); }, x);
}

/// The hyperbolic sine.
template <Real T>
inline T sinh(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::sinh(v); }, x);
}

/// The hyperbolic cosine.
template <Real T>
inline T cosh(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::cosh(v); }, x);
}

/// The inverse hyperbolic sine.
template <Real T>
inline T asinh(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::asinh(v); }, x);
}

/// The inverse hyperbolic cosine.
template <Real T>
inline T acosh(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::acosh(v); }, x);
}

/// The inverse hyperbolic tangent.
template <Real T>
inline T atanh(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::atanh(v); }, x);
}

/// The error function.
template <Real T>
inline T erf(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::erf(v); }, x);
}

/// 1 - erf(x), accurate where erf is near 1.
template <Real T>
inline T erfc(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return std::erfc(v); }, x);
}

/// log|Gamma(x)|; +inf at the poles.
template <Real T>
inline T lgamma(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return detail::lgamma_thread_safe(v); }, x);
}

/// The derivative of lgamma; NaN at the negative poles, of the sign of -x and infinite at 0.
template <Real T>
inline T digamma(const T& x) {
  return simd::for_each_lane([](scalar_t<T> v) { return detail::digamma_or_nan(v); }, x);
}

/// x to the power y.
template <Real T>
inline T pow(const T& x, const T& y) {
  return simd::for_each_lane([](scalar_t<T> a, scalar_t<T> b) { return std::pow(a, b); }, x, y);
}

/// The angle of the point (x, y).
template <Real T>
inline T atan2(const T& y, const T& x) {
  return simd::for_each_lane([](scalar_t<T> a, scalar_t<T> b) { return std::atan2(a, b); }, y, x);
}

/// sqrt(x^2 + y^2) without undue overflow.
template <Real T>
inline T hypot(const T& x, const T& y) {
  return simd::for_each_lane([](scalar_t<T> a, scalar_t<T> b) { return std::hypot(a, b); }, x, y);
}

}  // namespace onward::simd
