#pragma once
// What the compiler says when a number that carries derivatives is used as a plain one.

#include <concepts>

namespace onward::ad {

template <class>
constexpr bool never = false;

/// Instantiated once, whichever scalars a model is compiled for, so that the compiler says it once.
template <class T>
[[noreturn]] T plain_number() {
  static_assert(never<T>,
                "this number carries derivatives, which a plain one cannot. Call functions without std:: "
                "(`using std::exp; exp(x)`, not `std::exp(x)`) and write auto for arguments and results");
  throw;
}

}  // namespace onward::ad

/// A conversion that no function needs but those of the standard library, called as std::exp(x): without it
/// the compiler would list every overload. It is to long double alone, as a template, so that nothing else
/// converts by it: `b ? x : 0.0` stays what it was.
#define ONWARD_NO_PLAIN_NUMBER                  \
  template <std::same_as<long double> Plain>    \
  constexpr operator Plain() const {            \
    return ::onward::ad::plain_number<Plain>(); \
  }
