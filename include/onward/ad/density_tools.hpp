#pragma once
// What log densities are written with: the type of a result, and what becomes of it where an argument is not
// what it should be.

#include "onward/ad/functions.hpp"

namespace onward::ad {

/// A built-in number as a double; all others as they are.
template <class X>
constexpr decltype(auto) real(const X& x) {
  if constexpr (std::is_arithmetic_v<X>)
    return static_cast<double>(x);
  else
    return (x);
}

/// What a density of these arguments is: the scalar that carries derivatives if one of them does.
template <class... X>
using density_t = std::remove_cvref_t<decltype((0.0 + ... + real(std::declval<const X&>())))>;

/// An argument without its derivatives, of the type that the values of D have.
template <class D, class X>
constexpr scalar_t<D> plain(const X& x) {
  if constexpr (AdScalar<X>)
    return x.value;
  else
    return constant<scalar_t<D>>(x);
}

template <class D>
using mask_of = simd::mask_t<scalar_t<D>>;

/// The density where its parameters are valid and the observation is not outside; -inf outside, NaN where
/// parameters are invalid. Conditions are such that a NaN among the arguments makes the result NaN.
template <class D>
constexpr D settled(const D& density, const mask_of<D>& valid, const mask_of<D>& outside) {
  using T = scalar_t<D>;
  if (simd::all(valid && !outside)) return density;
  const D inside = choose(outside, D(neg_infinity<T>()), density);
  return choose(valid, inside, D(T(std::numeric_limits<simd::scalar_t<T>>::quiet_NaN())));
}
template <class D>
constexpr D settled(const D& density, const mask_of<D>& valid) {
  return settled<D>(density, valid, scalar_t<D>(0) > scalar_t<D>(0));
}

/// c * log_x, which is 0 where c and x are: 0 times the logarithm of 0.
template <class D, class C, class X, class L>
constexpr D times_log(const C& c, const X& x, const L& log_x) {
  using T = scalar_t<D>;
  const D product = D(c * log_x);
  const auto edge = plain<D>(c) == T(0) && plain<D>(x) == T(0);
  if (!simd::any(edge)) return product;
  return choose(edge, D(T(0)), product);
}

/// A whole number from 0 on.
constexpr bool is_count(double n) {
  return n >= 0 && n < 0x1p53 && n == static_cast<double>(static_cast<std::int64_t>(n));
}

/// log(n!)
inline double log_factorial(double n) { return simd::lgamma(n + 1); }
/// log of n over k
inline double log_choose(double n, double k) {
  return k == 0 || k == n ? 0.0 : log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/// log(x (x + 1) ... (x + n - 1)), for n >= 0. A few factors are multiplied, so that nothing cancels where x
/// is large.
template <class X>
constexpr auto log_rising(const X& x, double n) {
  using std::lgamma, std::log;
  using D = density_t<X>;
  constexpr double most_factors = 16;
  if (n > most_factors) return D(lgamma(x + n) - lgamma(real(x)));
  D sum = scalar_t<D>(0);
  for (double k = 0; k < n; k += 4) {
    D product = x + k;
    for (double j = k + 1; j < n && j < k + 4; ++j) product *= D(x + j);
    sum += log(product);
  }
  return sum;
}

}  // namespace onward::ad
