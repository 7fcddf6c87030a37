#pragma once
// A few log densities that models ask for again and again, normalised, for any mix of numbers: the
// observation, the parameters or all of them may move. Invalid parameters (a scale below 0) give NaN, which a
// run counts as a rejection.

#include "onward/ad/functions.hpp"

namespace onward {

/// log N(y; mu, sigma)
template <class Y, class M, class S>
constexpr auto normal_lpdf(const Y& y, const M& mu, const S& sigma) {
  using std::log;
  const auto z = (y - mu) / sigma;
  return -0.5 * (z * z) - log(sigma) - ad::rule::half_log_two_pi;
}

/// log P(Y <= y) for Y ~ N(mu, sigma)
template <class Y, class M, class S>
constexpr auto normal_lcdf(const Y& y, const M& mu, const S& sigma) {
  return normal_lcdf((y - mu) / sigma);
}

/// log P(Y > y) for Y ~ N(mu, sigma)
template <class Y, class M, class S>
constexpr auto normal_lccdf(const Y& y, const M& mu, const S& sigma) {
  return normal_lccdf((y - mu) / sigma);
}

/// Student's t with nu degrees of freedom, location mu and scale sigma.
template <class Y, class N, class M, class S>
constexpr auto student_t_lpdf(const Y& y, const N& nu, const M& mu, const S& sigma) {
  using std::lgamma, std::log, std::log1p;
  const auto z = (y - mu) / sigma;
  return lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * nu) - 0.5 * (log(nu) + ad::rule::log_pi) - log(sigma) -
         0.5 * (nu + 1.0) * log1p(z * z / nu);
}

/// Cauchy with location mu and scale sigma.
template <class Y, class M, class S>
constexpr auto cauchy_lpdf(const Y& y, const M& mu, const S& sigma) {
  using std::log, std::log1p;
  const auto z = (y - mu) / sigma;
  return -log1p(z * z) - log(sigma) - ad::rule::log_pi;
}

/// Gamma with shape a and rate b (mean a / b), at y > 0.
template <class Y, class A, class B>
constexpr auto gamma_lpdf(const Y& y, const A& a, const B& b) {
  using std::lgamma, std::log;
  return a * log(b) - lgamma(a) + (a - 1.0) * log(y) - b * y;
}

/// One yes (y true) or no with log odds eta.
template <AnyNumber X>
constexpr X bernoulli_logit_lpmf(bool y, const X& eta) {
  return log_inv_logit(X(eta * (y ? 1.0 : -1.0)));  // no branch on the data
}

/// A count k with log mean eta.
template <AnyNumber X>
constexpr X poisson_log_lpmf(unsigned k, const X& eta) {
  const double n = k;
  return eta * n - ad::chain(ad::rule::Exp{}, eta) - ad::constant<scalar_t<X>>(simd::lgamma(n + 1.0));
}

}  // namespace onward
