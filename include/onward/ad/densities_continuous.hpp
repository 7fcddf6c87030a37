#pragma once
// Log densities of real numbers, by the names and in the parameters that Stan gives them.

#include "onward/ad/bessel_rule.hpp"
#include "onward/ad/density_tools.hpp"

namespace onward {

/// log N(y; 0, 1)
template <class Y>
constexpr auto std_normal_lpdf(const Y& y) {
  return -0.5 * (y * y) - ad::rule::half_log_two_pi;
}

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

/// Skew normal with location xi, scale omega and slant alpha.
template <class Y, class X, class O, class A>
constexpr auto skew_normal_lpdf(const Y& y, const X& xi, const O& omega, const A& alpha) {
  const auto z = (ad::real(y) - xi) / omega;
  return normal_lpdf(y, xi, omega) + ad::rule::log_two + normal_lcdf(alpha * z);
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

/// Laplace with location mu and scale sigma.
template <class Y, class M, class S>
constexpr auto double_exponential_lpdf(const Y& y, const M& mu, const S& sigma) {
  using std::abs, std::log;
  return -log(2.0 * sigma) - abs(ad::real(y) - mu) / sigma;
}

/// Logistic with location mu and scale sigma.
template <class Y, class M, class S>
constexpr auto logistic_lpdf(const Y& y, const M& mu, const S& sigma) {
  using std::log;
  const auto z = (ad::real(y) - mu) / sigma;
  return -log(ad::real(sigma)) - z - 2.0 * softplus(-z);
}

/// Uniform between a and b.
template <class Y, class A, class B>
constexpr auto uniform_lpdf(const Y& y, const A& a, const B& b) {
  using std::log;
  using D = ad::density_t<Y, A, B>;
  const auto p = ad::plain<D>(y), low = ad::plain<D>(a), high = ad::plain<D>(b);
  return ad::settled<D>(D(-log(ad::real(b - a))), low < high, p < low || p > high);
}

/// Exponential with rate beta (mean 1 / beta), at y >= 0.
template <class Y, class B>
constexpr auto exponential_lpdf(const Y& y, const B& beta) {
  using std::log;
  using D = ad::density_t<Y, B>;
  using T = scalar_t<D>;
  return ad::settled<D>(D(log(ad::real(beta)) - beta * y), ad::plain<D>(beta) > T(0), ad::plain<D>(y) < T(0));
}

/// Gamma with shape a and rate b (mean a / b), at y >= 0.
template <class Y, class A, class B>
constexpr auto gamma_lpdf(const Y& y, const A& a, const B& b) {
  using std::lgamma, std::log;
  using D = ad::density_t<Y, A, B>;
  using T = scalar_t<D>;
  const D density = D(a * log(ad::real(b)) - lgamma(ad::real(a))) +
                    ad::times_log<D>(a - 1.0, y, log(ad::real(y))) - D(b * y);
  return ad::settled<D>(density, ad::plain<D>(a) > T(0) && ad::plain<D>(b) > T(0), ad::plain<D>(y) < T(0));
}

/// 1 / y has a gamma density with shape a and rate b, at y > 0.
template <class Y, class A, class B>
constexpr auto inv_gamma_lpdf(const Y& y, const A& a, const B& b) {
  using std::lgamma, std::log;
  using D = ad::density_t<Y, A, B>;
  using T = scalar_t<D>;
  const D density =
      D(a * log(ad::real(b)) - lgamma(ad::real(a))) - D((a + 1.0) * log(ad::real(y))) - D(b / ad::real(y));
  return ad::settled<D>(density, ad::plain<D>(a) > T(0) && ad::plain<D>(b) > T(0), ad::plain<D>(y) <= T(0));
}

/// Chi-square with nu degrees of freedom, at y >= 0.
template <class Y, class N>
constexpr auto chi_square_lpdf(const Y& y, const N& nu) {
  return gamma_lpdf(y, 0.5 * nu, 0.5);
}

/// log y is normal with mean mu and standard deviation sigma, at y > 0.
template <class Y, class M, class S>
constexpr auto lognormal_lpdf(const Y& y, const M& mu, const S& sigma) {
  using std::log;
  using D = ad::density_t<Y, M, S>;
  using T = scalar_t<D>;
  const auto log_y = log(ad::real(y));
  const D density = D(normal_lpdf(log_y, mu, ad::real(sigma))) - D(log_y);
  return ad::settled<D>(density, ad::plain<D>(sigma) > T(0), ad::plain<D>(y) <= T(0));
}

/// Weibull with shape alpha and scale sigma, at y >= 0.
template <class Y, class A, class S>
constexpr auto weibull_lpdf(const Y& y, const A& alpha, const S& sigma) {
  using std::exp, std::log;
  using D = ad::density_t<Y, A, S>;
  using T = scalar_t<D>;
  const auto log_z = log(y / ad::real(sigma));
  const D density =
      D(log(alpha / ad::real(sigma))) + ad::times_log<D>(alpha - 1.0, y, log_z) - D(exp(alpha * log_z));
  return ad::settled<D>(density, ad::plain<D>(alpha) > T(0) && ad::plain<D>(sigma) > T(0),
                        ad::plain<D>(y) < T(0));
}

/// Beta with exponents a - 1 of y and b - 1 of 1 - y, at 0 <= y <= 1.
template <class Y, class A, class B>
constexpr auto beta_lpdf(const Y& y, const A& a, const B& b) {
  using std::lgamma, std::log;
  using D = ad::density_t<Y, A, B>;
  using T = scalar_t<D>;
  const D density = D(lgamma(ad::real(a + b))) - D(lgamma(ad::real(a))) - D(lgamma(ad::real(b))) +
                    ad::times_log<D>(a - 1.0, y, log(ad::real(y))) +
                    ad::times_log<D>(b - 1.0, 1.0 - y, log1m(ad::real(y)));
  return ad::settled<D>(density, ad::plain<D>(a) > T(0) && ad::plain<D>(b) > T(0),
                        ad::plain<D>(y) < T(0) || ad::plain<D>(y) > T(1));
}

/// Von Mises: an angle y about mu with concentration kappa >= 0, over any interval of length 2π.
template <class Y, class M, class K>
constexpr auto von_mises_lpdf(const Y& y, const M& mu, const K& kappa) {
  using std::cos;
  using D = ad::density_t<Y, M, K>;
  const D density = D(kappa * cos(ad::real(y) - mu)) -
                    D(ad::chain(ad::rule::LogBesselI0{}, ad::real(kappa))) - ad::rule::log_two_pi;
  return ad::settled<D>(density, ad::plain<D>(kappa) >= scalar_t<D>(0));
}

}  // namespace onward
