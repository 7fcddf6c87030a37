#pragma once
// Reverse: whole gradients, for the samplers that need them. A number is known by the node of the tape that
// it depends on and by its derivative towards that node. So constants, functions of one number, scaling by
// constants and operations on numbers that depend on the same node write nothing: only where two different
// nodes meet is there a new one.

#include <cstddef>
#include <span>

#include "onward/ad/arithmetic.hpp"
#include "onward/ad/chain.hpp"
#include "onward/ad/no_plain_number.hpp"
#include "onward/ad/tape.hpp"

namespace onward {

/// A number whose history is on the tape: its value, the number of a node (0: a constant), and the derivative
/// towards it.
template <class T>
struct Reverse {
  using Scalar = T;
  using Index = typename Tape<T>::Index;
  T value{};
  T scale{};
  Index index = 0;

  ONWARD_ALWAYS_INLINE constexpr Reverse() : value(0), scale(0) {}
  template <ConstantFor<Reverse> C>
  ONWARD_ALWAYS_INLINE constexpr Reverse(const C& c) : value(ad::constant<T>(c)), scale(0) {}
  ONWARD_ALWAYS_INLINE constexpr Reverse(const T& v, const T& s, Index i) : value(v), scale(s), index(i) {}

  ONWARD_NO_PLAIN_NUMBER

  ONWARD_ALWAYS_INLINE Reverse operator-() const { return {simd::neg(value), simd::neg(scale), index}; }
  ONWARD_ALWAYS_INLINE Reverse& operator+=(const Reverse& b) {
    return *this = sum(value + b.value, *this, b.scale, b.index);
  }
  ONWARD_ALWAYS_INLINE Reverse& operator-=(const Reverse& b) {
    return *this = sum(value - b.value, *this, simd::neg(b.scale), b.index);
  }
  ONWARD_ALWAYS_INLINE Reverse& operator*=(const Reverse& b) {
    return *this = join(value * b.value, *this, b.value, b, value);
  }
  ONWARD_ALWAYS_INLINE Reverse& operator/=(const Reverse& b) {
    const T f = value / b.value, r = T(1) / b.value;
    return *this = join(f, *this, r, b, simd::neg(T(f * r)));
  }

  // A shift by a constant has derivative 1 (arithmetic.hpp).
  template <ConstantFor<Reverse> C>
  ONWARD_ALWAYS_INLINE Reverse& operator*=(const C& c) {
    const T k = ad::constant<T>(c);
    return *this = of(value * k, *this, k);
  }
  template <ConstantFor<Reverse> C>
  ONWARD_ALWAYS_INLINE Reverse& operator/=(const C& c) {
    const T k = ad::constant<T>(c);
    return *this = of(value / k, *this, T(1) / k);
  }

  ONWARD_ALWAYS_INLINE friend Reverse divide(const T& c, const Reverse& a) {
    const T f = c / a.value, r = T(1) / a.value;
    return of(f, a, simd::neg(T(f * r)));
  }
  /// A single number gets a node of its own where a batch does, so that adjoints are added in one order.
  friend Reverse select(const simd::mask_t<T>& mask, const Reverse& a, const Reverse& b) {
    const T chosen = simd::select(mask, T(1), T(0)), other = simd::select(mask, T(0), T(1));
    return join(simd::select(mask, a.value, b.value), a, chosen, b, other);
  }
  friend std::ostream& operator<<(std::ostream& out, const Reverse& x) { return out << x.value; }

  /// A function of a, with its derivative.
  ONWARD_ALWAYS_INLINE static Reverse of(const T& value, const Reverse& a, const T& da) {
    return {value, ad::product(a.scale, da), a.index};
  }
  /// A function of a and b, with its derivatives.
  ONWARD_ALWAYS_INLINE static Reverse join(const T& value, const Reverse& a, const T& da, const Reverse& b,
                                           const T& db) {
    const T to_a = ad::product(a.scale, da), to_b = ad::product(b.scale, db);
    if (a.index == b.index || b.index == 0) return {value, to_a + to_b, a.index};
    if (a.index == 0) return {value, to_b, b.index};
    return {value, T(1), Tape<T>::active().push(a.index, to_a, b.index, to_b)};
  }

 private:
  ONWARD_ALWAYS_INLINE static Reverse sum(const T& value, const Reverse& a, const T& b_scale, Index b) {
    if (a.index == b || b == 0) return {value, a.scale + b_scale, a.index};
    if (a.index == 0) return {value, b_scale, b};
    return {value, T(1), Tape<T>::active().push_sum(a.index, a.scale, b, b_scale)};
  }
};

namespace ad {

template <class Rule, class T>
ONWARD_ALWAYS_INLINE inline Reverse<T> chain(const Rule& rule, const Reverse<T>& x) {
  const Unary<T> f = rule.template at<1>(x.value);
  return Reverse<T>::of(f.value, x, f.first);
}
template <class Rule, class T>
ONWARD_ALWAYS_INLINE inline Reverse<T> chain(const Rule& rule, const Reverse<T>& a, const Reverse<T>& b) {
  const Binary<T> f = rule.template at<1>(a.value, b.value);
  return Reverse<T>::join(f.value, a, f.a, b, f.b);
}

/// The gradient of what evaluate() makes of the variables on a tape that was started, into out; returns the
/// value.
template <class T, class F>
T gradient_on(Tape<T>& tape, std::span<T> out, F&& evaluate) {
  const typename Tape<T>::Active active(tape);
  const Reverse<T> y = evaluate();
  tape.sweep(y);
  const std::span<const T> adjoints = tape.adjoints();
  std::copy(adjoints.begin(), adjoints.end(), out.begin());
  return y.value;
}

}  // namespace ad

/// The gradient of f at theta by reverse mode, into out; returns the value. f takes a std::span<const
/// Reverse<T>>.
template <class T, class F>
T gradient(F&& f, std::span<const T> theta, std::span<T> out, Tape<T>& tape) {
  tape.start(theta);
  return ad::gradient_on(tape, out, [&]() -> Reverse<T> { return f(tape.entries()); });
}

/// The same with a tape that belongs to the thread.
template <class F>
double gradient(F&& f, std::span<const double> theta, std::span<double> out) {
  static thread_local Tape<double> tape;
  return gradient(f, theta, out, tape);
}

}  // namespace onward
