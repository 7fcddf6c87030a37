#pragma once
// Value: a number without derivatives that uses the same functions as the jets, and so has the same value
// bits.

#include "onward/ad/arithmetic.hpp"
#include "onward/ad/chain.hpp"
#include "onward/ad/no_plain_number.hpp"

namespace onward {

/// Order 0: a value. Evaluating a callable with Value<double> gives the bits that Dual and Jet2 carry as
/// values; plain double would take the standard library's functions instead.
template <class T>
struct Value {
  using Scalar = T;
  T value{};

  ONWARD_ALWAYS_INLINE constexpr Value() = default;
  template <ConstantFor<Value> C>
  ONWARD_ALWAYS_INLINE constexpr Value(const C& c) : value(ad::constant<T>(c)) {}

  ONWARD_NO_PLAIN_NUMBER

  ONWARD_ALWAYS_INLINE constexpr Value operator-() const { return {simd::neg(value)}; }
  ONWARD_ALWAYS_INLINE constexpr Value& operator+=(const Value& b) { return value += b.value, *this; }
  ONWARD_ALWAYS_INLINE constexpr Value& operator-=(const Value& b) { return value -= b.value, *this; }
  ONWARD_ALWAYS_INLINE constexpr Value& operator*=(const Value& b) { return value *= b.value, *this; }
  ONWARD_ALWAYS_INLINE constexpr Value& operator/=(const Value& b) { return value /= b.value, *this; }

  ONWARD_ALWAYS_INLINE friend constexpr Value divide(const T& c, const Value& a) { return {c / a.value}; }
  ONWARD_ALWAYS_INLINE friend constexpr Value select(const auto& mask, const Value& a, const Value& b) {
    return {ad::pick(mask, a.value, b.value)};
  }
  friend std::ostream& operator<<(std::ostream& out, const Value& x) { return out << x.value; }
};

namespace ad {

template <class Rule, class T>
ONWARD_ALWAYS_INLINE constexpr Value<T> chain(const Rule& rule, const Value<T>& x) {
  return {rule.template at<0>(x.value).value};
}
template <class Rule, class T>
ONWARD_ALWAYS_INLINE constexpr Value<T> chain(const Rule& rule, const Value<T>& a, const Value<T>& b) {
  return {rule.template at<0>(a.value, b.value).value};
}

}  // namespace ad
}  // namespace onward
