#pragma once
// The vocabulary of the ad folder: which types count as plain numbers, which carry derivatives, and how to
// get from one to the other. Everything else in the folder is written against these few names.

#include <concepts>
#include <type_traits>
#include "onward/simd/batch.hpp"
#include "onward/simd/two.hpp"

/// A jet is cheap only if its operators vanish into the code around them; the compiler's own judgement of
/// what to inline wavers with the size of a file.
#define ONWARD_ALWAYS_INLINE [[gnu::always_inline]]

namespace onward {

template <class T>
struct Value;
template <class T, class S = T>
struct Dual;
template <class T, class S = T>
struct Jet2;
template <class T>
struct Reverse;

namespace ad {

template <class T, bool derivatives>
struct Carries {
  static constexpr bool carries_derivatives = derivatives;
  using Scalar = T;
};
template <class X>
struct Traits : Carries<X, false> {};
template <class T>
struct Traits<Value<T>> : Carries<T, true> {};
template <class T, class S>
struct Traits<Dual<T, S>> : Carries<T, true> {};
template <class T, class S>
struct Traits<Jet2<T, S>> : Carries<T, true> {};
template <class T>
struct Traits<Reverse<T>> : Carries<T, true> {};

}  // namespace ad

/// What a scalar of ours holds as its value: double for Jet2<double>, Batch<float> for Dual<Batch<float>>.
template <class X>
using scalar_t = typename ad::Traits<std::remove_cvref_t<X>>::Scalar;

/// Value, Dual, Jet2 or Reverse.
template <class X>
concept AdScalar = ad::Traits<X>::carries_derivatives;

/// Any number that the functions without a namesake in the standard library take.
template <class X>
concept AnyNumber = simd::Real<X> || AdScalar<X>;

/// A constant beside X in arithmetic: a built-in number, or X's own plain scalar (a batch of constants).
template <class C, class X>
concept ConstantFor = AdScalar<X> &&(std::is_arithmetic_v<C> || std::same_as<C, scalar_t<X>>);

namespace ad {

/// a where the mask holds, b elsewhere; one bool decides for a whole number with all its slopes.
template <class Mask, class T>
constexpr T pick(const Mask& mask, const T& a, const T& b) {
  if constexpr (std::same_as<Mask, bool>) {
    return mask ? a : b;
  } else {
    return simd::select(mask, a, b);
  }
}

/// A constant as a T; a built-in number fills every lane of a batch.
template <class T, class C>
constexpr T constant(const C& c) {
  if constexpr (std::is_arithmetic_v<C>) {
    return T(static_cast<simd::scalar_t<T>>(c));
  } else {
    return c;
  }
}

}  // namespace ad

/// The value of a number, without its derivatives; a plain number is its own value.
template <class X>
constexpr auto value_of(const X& x) {
  if constexpr (AdScalar<X>) {
    return x.value;
  } else {
    return x;
  }
}

}  // namespace onward
