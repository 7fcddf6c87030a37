#pragma once
// Functions of whole vectors: dot(), sum(), sum_of_squares() and squared_distance(). They have the values of
// plain loops up to rounding, and are faster: in gradients by reverse mode each is one node of the tape, and
// what can be done many numbers at a time is.
//
// A vector is anything with size() and [] over numbers, plain ones (data) or those of this folder
// (parameters): what a model is given, a std::span, a std::vector, an Eigen vector. Sums go by eight partial
// sums, as those of simd/reduce.hpp do, so that values are the same to the bit for every scalar and for the
// lanes of a batch.

#include "onward/ad/vector_sources.hpp"

namespace onward {

/// The sum of a[i] b[i], of data and parameters in any mix.
template <ad::NumberVector A, ad::NumberVector B>
auto dot(const A& a, const B& b) {
  using R = ad::NumberOf<A, B>;
  using T = ad::PlainOf<R>;
  const std::size_t n = ad::common_size("dot", a, b);
  const auto x = ad::source<R, 0>(a, n);
  const auto y = ad::source<R, 1>(b, n);
  if constexpr (ad::is_reverse<R>) {
    auto& tape = Tape<T>::active();
    const T value = ad::dot_of_values<T>(x, y, n);
    tape.begin();
    x.scatter(tape, n, [&](std::size_t i) { return y.value(i); });
    y.scatter(tape, n, [&](std::size_t i) { return x.value(i); });
    return tape.end(value);
  } else if constexpr (ad::along_axes<R, std::remove_const_t<decltype(x)>,
                                      std::remove_const_t<decltype(y)>>) {
    return R(ad::dot_of_values<T>(x, y, n), ad::spread<R>(x, [&](std::size_t i) { return y.value(i); }) +
                                                ad::spread<R>(y, [&](std::size_t i) { return x.value(i); }));
  } else {
    return ad::in_eights<R>(
        n, [](auto& s, const auto& xi, const auto& yi) { s = ad::plus_product(s, xi, yi); }, x, y);
  }
}

/// The sum of a[i].
template <ad::NumberVector A>
auto sum(const A& a) {
  using R = ad::NumberOf<A>;
  using T = ad::PlainOf<R>;
  const std::size_t n = ad::size_of(a);
  const auto x = ad::source<R, 0>(a, n);
  const auto add = [](auto& s, const auto& xi) { s += xi; };
  if constexpr (ad::is_reverse<R>) {
    auto& tape = Tape<T>::active();
    const T value = ad::in_eights<T>(n, add, ad::values_of(x));
    tape.begin();
    x.scatter(tape, n, [](std::size_t) { return T(1); });
    return tape.end(value);
  } else if constexpr (ad::along_axes<R, std::remove_const_t<decltype(x)>>) {
    return R(ad::in_eights<T>(n, add, ad::values_of(x)), ad::spread<R>(x, ad::Ones{}));
  } else {
    return ad::in_eights<R>(n, add, x);
  }
}

/// The sum of (a[i] - b[i])^2. One of them may be a number, which stands for as many.
template <class A, class B>
requires(ad::NumberVector<A> || ad::NumberVector<B>) auto squared_distance(const A& a, const B& b) {
  using R = ad::NumberOf<A, B>;
  using T = ad::PlainOf<R>;
  const std::size_t n = ad::common_size("squared_distance", a, b);
  const auto x = ad::source<R, 0>(a, n);
  const auto y = ad::source<R, 1>(b, n);
  const auto add = [](auto& s, const auto& xi, const auto& yi) {
    const auto d = xi - yi;
    s = ad::plus_product(s, d, d);
  };
  if constexpr (ad::is_reverse<R>) {
    auto& tape = Tape<T>::active();
    const T value = ad::in_eights<T>(n, add, ad::values_of(x), ad::values_of(y));
    tape.begin();
    x.scatter(tape, n, [&](std::size_t i) { return T(2) * (x.value(i) - y.value(i)); });
    y.scatter(tape, n, [&](std::size_t i) { return T(2) * (y.value(i) - x.value(i)); });
    return tape.end(value);
  } else {
    return ad::in_eights<R>(n, add, x, y);
  }
}

/// The sum of a[i]^2.
template <ad::NumberVector A>
auto sum_of_squares(const A& a) {
  using R = ad::NumberOf<A>;
  using T = ad::PlainOf<R>;
  const std::size_t n = ad::size_of(a);
  const auto x = ad::source<R, 0>(a, n);
  if constexpr (ad::is_reverse<R>) {
    auto& tape = Tape<T>::active();
    const T value = ad::dot_of_values<T>(x, x, n);
    tape.begin();
    x.scatter(tape, n, [&](std::size_t i) { return x.value(i) + x.value(i); });
    return tape.end(value);
  } else if constexpr (ad::along_axes<R, std::remove_const_t<decltype(x)>>) {
    const auto half = x.spread_values();
    return R(ad::dot_of_values<T>(x, x, n), half + half);
  } else {
    return ad::in_eights<R>(
        n, [](auto& s, const auto& xi) { s = ad::plus_product(s, xi, xi); }, x);
  }
}

}  // namespace onward
