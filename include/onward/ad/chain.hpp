#pragma once
// What a rule hands back (a function's value and derivatives at a place), and the product by which slopes
// enter.

#include "onward/ad/concepts.hpp"

namespace onward::ad {

/// f and its derivatives at one place. A rule asked for order N fills the first N derivatives.
template <class T>
struct Unary {
  T value, first = T(0), second = T(0);
};

/// f(a, b) and its partial derivatives at one place.
template <class T>
struct Binary {
  T value, a = T(0), b = T(0), aa = T(0), ab = T(0), bb = T(0);
};

/// True for a rule whose derivatives are finite wherever its value is a number: no guard is needed then.
template <class Rule>
constexpr bool is_smooth = requires {
  Rule::smooth;
};

/// derivative * slope, where a slope of exactly 0 gives 0 even if the derivative is infinite: what does not
/// move along the line stays still, also at the edge of a function's domain (sqrt of a constant 0).
template <class Rule, class T, class S>
ONWARD_ALWAYS_INLINE constexpr S times(const T& derivative, const S& slope) {
  if constexpr (is_smooth<Rule>) {
    return derivative * slope;
  } else {
    return simd::select(slope == S(0), S(0), S(derivative * slope));
  }
}

/// A plain number: the value alone.
template <class Rule, simd::Real T>
constexpr T chain(const Rule& rule, const T& x) {
  return rule.template at<0>(x).value;
}
template <class Rule, simd::Real T>
constexpr T chain(const Rule& rule, const T& a, const T& b) {
  return rule.template at<0>(a, b).value;
}

}  // namespace onward::ad
