#pragma once
// Dual: value and slope, the order-1 jet.

#include "onward/ad/arithmetic.hpp"
#include "onward/ad/chain.hpp"
#include "onward/ad/no_plain_number.hpp"

namespace onward {

/// Order 1: a value and its slope along a line. With S a batch and T a single number, one pass carries the
/// slopes along as many lines as the batch has lanes (a gradient in chunks).
template <class T, class S>
struct Dual {
  using Scalar = T;
  T value{};
  S slope{};

  ONWARD_ALWAYS_INLINE constexpr Dual() : value(0), slope(0) {}
  template <ConstantFor<Dual> C>
  ONWARD_ALWAYS_INLINE constexpr Dual(const C& c) : value(ad::constant<T>(c)), slope(0) {}
  ONWARD_ALWAYS_INLINE constexpr Dual(const T& v, const S& s) : value(v), slope(s) {}

  ONWARD_NO_PLAIN_NUMBER

  ONWARD_ALWAYS_INLINE constexpr Dual operator-() const { return {simd::neg(value), simd::neg(slope)}; }
  ONWARD_ALWAYS_INLINE constexpr Dual& operator+=(const Dual& b) {
    return *this = {value + b.value, slope + b.slope};
  }
  ONWARD_ALWAYS_INLINE constexpr Dual& operator-=(const Dual& b) {
    return *this = {value - b.value, slope - b.slope};
  }
  ONWARD_ALWAYS_INLINE constexpr Dual& operator*=(const Dual& b) {
    return *this = {value * b.value, simd::mul_add(slope, S(b.value), S(value * b.slope))};
  }
  ONWARD_ALWAYS_INLINE constexpr Dual& operator/=(const Dual& b) {
    const T f = value / b.value, r = T(1) / b.value;
    return *this = {f, (slope - f * b.slope) * r};
  }

  template <ConstantFor<Dual> C>
  ONWARD_ALWAYS_INLINE constexpr Dual& operator*=(const C& c) {
    const T k = ad::constant<T>(c);
    return *this = {value * k, slope * k};
  }
  template <ConstantFor<Dual> C>
  ONWARD_ALWAYS_INLINE constexpr Dual& operator/=(const C& c) {
    const T k = ad::constant<T>(c);
    return *this = {value / k, slope * (T(1) / k)};
  }

  ONWARD_ALWAYS_INLINE friend constexpr Dual divide(const T& c, const Dual& a) {
    const T f = c / a.value, r = T(1) / a.value;
    return {f, simd::neg(T(f * r)) * a.slope};
  }
  ONWARD_ALWAYS_INLINE friend constexpr Dual select(const auto& mask, const Dual& a, const Dual& b) {
    return {ad::pick(mask, a.value, b.value), ad::pick(mask, a.slope, b.slope)};
  }
  friend std::ostream& operator<<(std::ostream& out, const Dual& x) {
    return out << x.value << " (slope " << x.slope << ')';
  }
};

namespace ad {

template <class Rule, class T, class S>
ONWARD_ALWAYS_INLINE constexpr Dual<T, S> chain(const Rule& rule, const Dual<T, S>& x) {
  const Unary<T> f = rule.template at<1>(x.value);
  return {f.value, times<Rule>(f.first, x.slope)};
}
template <class Rule, class T, class S>
ONWARD_ALWAYS_INLINE constexpr Dual<T, S> chain(const Rule& rule, const Dual<T, S>& a, const Dual<T, S>& b) {
  const Binary<T> f = rule.template at<1>(a.value, b.value);
  return {f.value, times<Rule>(f.a, a.slope) + times<Rule>(f.b, b.slope)};
}

}  // namespace ad
}  // namespace onward
