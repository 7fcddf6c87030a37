#pragma once
// Operators for every scalar of the folder, made from what each type defines itself: the compound
// assignments, negation, and reciprocal division c / x. Constants have overloads of their own, so no zero
// slope is ever multiplied; a shift by a constant changes the value alone.

#include <ostream>

#include "onward/ad/concepts.hpp"

namespace onward {

// clang-format off
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X& operator+=(X& a, const C& c) { return a.value += ad::constant<scalar_t<X>>(c), a; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X& operator-=(X& a, const C& c) { return a.value -= ad::constant<scalar_t<X>>(c), a; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X operator+(const X& a) { return a; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X operator+(X a, const X& b) { return a += b; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator+(X a, const C& c) { return a += c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator+(const C& c, X a) { return a += c; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X operator-(X a, const X& b) { return a -= b; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator-(X a, const C& c) { return a -= c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator-(const C& c, const X& a) { return -a + c; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X operator*(X a, const X& b) { return a *= b; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator*(X a, const C& c) { return a *= c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator*(const C& c, X a) { return a *= c; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr X operator/(X a, const X& b) { return a /= b; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator/(X a, const C& c) { return a /= c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr X operator/(const C& c, const X& a) { return divide(ad::constant<scalar_t<X>>(c), a); }

// Comparisons look at values alone: bool for single numbers, a mask of lanes for batches.
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr auto operator<(const X& a, const X& b) { return a.value < b.value; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr auto operator>(const X& a, const X& b) { return a.value > b.value; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr auto operator<=(const X& a, const X& b) { return a.value <= b.value; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr auto operator>=(const X& a, const X& b) { return a.value >= b.value; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr auto operator==(const X& a, const X& b) { return a.value == b.value; }
template <AdScalar X> ONWARD_ALWAYS_INLINE constexpr auto operator!=(const X& a, const X& b) { return a.value != b.value; }

template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator<(const X& a, const C& c) { return a < X(c); }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator>(const X& a, const C& c) { return a > X(c); }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator<=(const X& a, const C& c) { return a <= X(c); }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator>=(const X& a, const C& c) { return a >= X(c); }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator==(const X& a, const C& c) { return a == X(c); }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator!=(const X& a, const C& c) { return a != X(c); }

template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator<(const C& c, const X& a) { return a > c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator>(const C& c, const X& a) { return a < c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator<=(const C& c, const X& a) { return a >= c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator>=(const C& c, const X& a) { return a <= c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator==(const C& c, const X& a) { return a == c; }
template <AdScalar X, ConstantFor<X> C> ONWARD_ALWAYS_INLINE constexpr auto operator!=(const C& c, const X& a) { return a != c; }
// clang-format on

}  // namespace onward
