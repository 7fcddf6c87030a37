#pragma once
// Jet2: value, slope and curvature along one line, the order-2 jet. All that a kernel asks of a target.

#include "onward/ad/arithmetic.hpp"
#include "onward/ad/chain.hpp"
#include "onward/ad/no_plain_number.hpp"

namespace onward {

/// Order 2: f, df/dα and d²f/dα² of a quantity along the line θ + αv. The curvature is the second derivative
/// itself, not the coefficient of α² in a Taylor series. With S a batch and T a single number, one pass
/// carries slopes and curvatures along several lines through the same place.
template <class T, class S>
struct Jet2 {
  using Scalar = T;
  T value{};
  S slope{};
  S curvature{};

  ONWARD_ALWAYS_INLINE constexpr Jet2() : value(0), slope(0), curvature(0) {}
  template <ConstantFor<Jet2> C>
  ONWARD_ALWAYS_INLINE constexpr Jet2(const C& c) : value(ad::constant<T>(c)), slope(0), curvature(0) {}
  ONWARD_ALWAYS_INLINE constexpr Jet2(const T& v, const S& s, const S& c = S(0))
      : value(v), slope(s), curvature(c) {}

  ONWARD_NO_PLAIN_NUMBER

  ONWARD_ALWAYS_INLINE constexpr Jet2 operator-() const {
    return {simd::neg(value), simd::neg(slope), simd::neg(curvature)};
  }
  ONWARD_ALWAYS_INLINE constexpr Jet2& operator+=(const Jet2& b) {
    return *this = {value + b.value, slope + b.slope, curvature + b.curvature};
  }
  ONWARD_ALWAYS_INLINE constexpr Jet2& operator-=(const Jet2& b) {
    return *this = {value - b.value, slope - b.slope, curvature - b.curvature};
  }
  ONWARD_ALWAYS_INLINE constexpr Jet2& operator*=(const Jet2& b) {
    const S bend = simd::mul_add(S(slope + slope), b.slope, S(value * b.curvature));
    return *this = {value * b.value, simd::mul_add(slope, S(b.value), S(value * b.slope)),
                    simd::mul_add(curvature, S(b.value), bend)};
  }
  ONWARD_ALWAYS_INLINE constexpr Jet2& operator/=(const Jet2& b) {  // from f b = a, differentiated twice
    const T f = value / b.value, r = T(1) / b.value;
    const S s = (slope - f * b.slope) * r;
    const S cross = s * b.slope;
    return *this = {f, s, (curvature - f * b.curvature - (cross + cross)) * r};
  }

  template <ConstantFor<Jet2> C>
  ONWARD_ALWAYS_INLINE constexpr Jet2& operator*=(const C& c) {
    const T k = ad::constant<T>(c);
    return *this = {value * k, slope * k, curvature * k};
  }
  template <ConstantFor<Jet2> C>
  ONWARD_ALWAYS_INLINE constexpr Jet2& operator/=(const C& c) {
    const T k = ad::constant<T>(c), r = T(1) / k;
    return *this = {value / k, slope * r, curvature * r};
  }

  ONWARD_ALWAYS_INLINE friend constexpr Jet2 divide(const T& c, const Jet2& a) {
    const T f = c / a.value, r = T(1) / a.value;
    const S s = simd::neg(T(f * r)) * a.slope;
    const S cross = s * a.slope;
    return {f, s, simd::neg(S(f * a.curvature + (cross + cross))) * r};
  }
  ONWARD_ALWAYS_INLINE friend constexpr Jet2 select(const auto& mask, const Jet2& a, const Jet2& b) {
    return {ad::pick(mask, a.value, b.value), ad::pick(mask, a.slope, b.slope),
            ad::pick(mask, a.curvature, b.curvature)};
  }
  friend std::ostream& operator<<(std::ostream& out, const Jet2& x) {
    return out << x.value << " (slope " << x.slope << ", curvature " << x.curvature << ')';
  }
};

namespace ad {

template <class Rule, class T, class S>
ONWARD_ALWAYS_INLINE constexpr Jet2<T, S> chain(const Rule& rule, const Jet2<T, S>& x) {
  const Unary<T> f = rule.template at<2>(x.value);
  return {f.value, times<Rule>(f.first, x.slope),
          times<Rule>(f.second, S(x.slope * x.slope)) + times<Rule>(f.first, x.curvature)};
}
template <class Rule, class T, class S>
ONWARD_ALWAYS_INLINE constexpr Jet2<T, S> chain(const Rule& rule, const Jet2<T, S>& a, const Jet2<T, S>& b) {
  const Binary<T> f = rule.template at<2>(a.value, b.value);
  const S cross = times<Rule>(f.ab, S(a.slope * b.slope));
  const S bend = times<Rule>(f.aa, S(a.slope * a.slope)) + times<Rule>(f.bb, S(b.slope * b.slope));
  return {f.value, times<Rule>(f.a, a.slope) + times<Rule>(f.b, b.slope),
          bend + (cross + cross) + (times<Rule>(f.a, a.curvature) + times<Rule>(f.b, b.curvature))};
}

}  // namespace ad
}  // namespace onward
