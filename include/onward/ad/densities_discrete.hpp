#pragma once
// Log probabilities of counts and classes, by the names and in the parameters that Stan gives them. Counts
// and classes are data, plain whole numbers; classes count from 1. A count that cannot be has -inf.

#include "onward/ad/density_tools.hpp"

namespace onward {

/// A plain number: data.
template <class N>
concept PlainNumber = std::is_arithmetic_v<N>;

/// y is 1 (true) with probability theta, else 0.
template <PlainNumber N, class P>
constexpr auto bernoulli_lpmf(N y, const P& theta) {
  using std::log;
  using D = ad::density_t<P>;
  using T = scalar_t<D>;
  const auto p = ad::plain<D>(theta);
  const D density = y != N(0) ? D(log(ad::real(theta))) : D(log1m(ad::real(theta)));
  const bool possible = y == N(0) || y == N(1);
  return ad::settled<D>(possible ? density : D(ad::neg_infinity<T>()), p >= T(0) && p <= T(1));
}

/// y is 1 (true) with log odds alpha.
template <PlainNumber N, AnyNumber X>
constexpr X bernoulli_logit_lpmf(N y, const X& alpha) {
  if (y != N(0) && y != N(1)) return ad::neg_infinity<scalar_t<X>>();
  return log_inv_logit(X(alpha * (y != N(0) ? 1.0 : -1.0)));  // no branch on the data
}

/// n successes of `trials`, each with probability theta.
template <PlainNumber N, PlainNumber M, class P>
constexpr auto binomial_lpmf(N n, M trials, const P& theta) {
  using std::log;
  using D = ad::density_t<P>;
  using T = scalar_t<D>;
  const auto yes = static_cast<double>(n), all = static_cast<double>(trials);
  const auto p = ad::plain<D>(theta);
  const auto valid = p >= T(0) && p <= T(1);
  if (!ad::is_count(all)) return D(ad::num<T>(std::numeric_limits<double>::quiet_NaN()));
  if (!ad::is_count(yes) || yes > all) return ad::settled<D>(D(ad::neg_infinity<T>()), valid);
  D density = ad::num<T>(ad::log_choose(all, yes));
  if (yes > 0) density += D(yes * log(ad::real(theta)));
  if (yes < all) density += D((all - yes) * log1m(ad::real(theta)));
  return ad::settled<D>(density, valid);
}

/// n successes of `trials`, each with log odds alpha.
template <PlainNumber N, PlainNumber M, AnyNumber X>
constexpr X binomial_logit_lpmf(N n, M trials, const X& alpha) {
  using T = scalar_t<X>;
  const auto yes = static_cast<double>(n), all = static_cast<double>(trials);
  if (!ad::is_count(all)) return ad::num<T>(std::numeric_limits<double>::quiet_NaN());
  if (!ad::is_count(yes) || yes > all) return ad::neg_infinity<T>();
  X density = ad::num<T>(ad::log_choose(all, yes));
  if (yes > 0) density += X(yes * log_inv_logit(alpha));
  if (yes < all) density += X((all - yes) * log_inv_logit(X(-alpha)));
  return density;
}

/// n successes of `trials`, whose probability has a beta density with a and b.
template <PlainNumber N, PlainNumber M, class A, class B>
constexpr auto beta_binomial_lpmf(N n, M trials, const A& a, const B& b) {
  using D = ad::density_t<A, B>;
  using T = scalar_t<D>;
  const auto yes = static_cast<double>(n), all = static_cast<double>(trials);
  const auto valid = ad::plain<D>(a) > T(0) && ad::plain<D>(b) > T(0);
  if (!ad::is_count(all)) return D(ad::num<T>(std::numeric_limits<double>::quiet_NaN()));
  if (!ad::is_count(yes) || yes > all) return ad::settled<D>(D(ad::neg_infinity<T>()), valid);
  const D density = D(ad::log_rising(a, yes)) + D(ad::log_rising(b, all - yes)) -
                    D(ad::log_rising(ad::real(a + b), all)) + ad::log_choose(all, yes);
  return ad::settled<D>(density, valid);
}

/// A count with mean lambda.
template <PlainNumber N, class L>
constexpr auto poisson_lpmf(N n, const L& lambda) {
  using std::log;
  using D = ad::density_t<L>;
  using T = scalar_t<D>;
  const auto k = static_cast<double>(n);
  const auto valid = ad::plain<D>(lambda) >= T(0);
  if (!ad::is_count(k)) return ad::settled<D>(D(ad::neg_infinity<T>()), valid);
  D density = D(-ad::real(lambda));
  if (k > 0) density += D(k * log(ad::real(lambda))) - ad::log_factorial(k);
  return ad::settled<D>(density, valid);
}

/// A count with log mean eta.
template <PlainNumber N, AnyNumber X>
constexpr X poisson_log_lpmf(N n, const X& eta) {
  using T = scalar_t<X>;
  const auto k = static_cast<double>(n);
  if (!ad::is_count(k)) return ad::neg_infinity<T>();
  return eta * k - ad::chain(ad::rule::Exp{}, eta) - ad::constant<T>(ad::log_factorial(k));
}

/// A Poisson count whose mean has a gamma density with shape alpha and rate beta.
template <PlainNumber N, class A, class B>
constexpr auto neg_binomial_lpmf(N n, const A& alpha, const B& beta) {
  using std::log1p;
  using D = ad::density_t<A, B>;
  using T = scalar_t<D>;
  const auto k = static_cast<double>(n);
  const auto valid = ad::plain<D>(alpha) > T(0) && ad::plain<D>(beta) > T(0);
  if (!ad::is_count(k)) return ad::settled<D>(D(ad::neg_infinity<T>()), valid);
  const D density = D(ad::log_rising(alpha, k)) - D(alpha * log1p(1.0 / beta)) -
                    D(k * log1p(ad::real(beta))) - ad::log_factorial(k);
  return ad::settled<D>(density, valid);
}

/// A count with mean mu and variance mu + mu² / phi.
template <PlainNumber N, class M, class P>
constexpr auto neg_binomial_2_lpmf(N n, const M& mu, const P& phi) {
  using std::log, std::log1p;
  using D = ad::density_t<M, P>;
  using T = scalar_t<D>;
  const auto k = static_cast<double>(n);
  const auto valid = ad::plain<D>(mu) > T(0) && ad::plain<D>(phi) > T(0);
  if (!ad::is_count(k)) return ad::settled<D>(D(ad::neg_infinity<T>()), valid);
  D density = D(-(phi * log1p(mu / ad::real(phi))));
  if (k > 0)
    density += D(ad::log_rising(phi, k)) + D(k * log(mu / ad::real(mu + phi))) - ad::log_factorial(k);
  return ad::settled<D>(density, valid);
}

/// A count with log mean eta and variance mean + mean² / phi.
template <PlainNumber N, class E, class P>
constexpr auto neg_binomial_2_log_lpmf(N n, const E& eta, const P& phi) {
  using std::log;
  using D = ad::density_t<E, P>;
  using T = scalar_t<D>;
  const auto k = static_cast<double>(n);
  const auto valid = ad::plain<D>(phi) > T(0);
  if (!ad::is_count(k)) return ad::settled<D>(D(ad::neg_infinity<T>()), valid);
  const D odds = D(eta - log(ad::real(phi)));
  D density = -D(softplus(odds) * (k + ad::real(phi)));
  if (k > 0) density += D(ad::log_rising(phi, k)) + D(k * odds) - ad::log_factorial(k);
  return ad::settled<D>(density, valid);
}

/// Class k, from 1 on, has probability theta[k - 1].
template <PlainNumber K, class R>
constexpr auto categorical_lpmf(K k, const R& theta) {
  using std::log;
  using D = ad::density_t<ad::entry_t<R>>;
  using T = scalar_t<D>;
  const auto place = static_cast<double>(k);
  if (!ad::is_count(place) || place < 1 || place > static_cast<double>(theta.size()))
    return D(ad::neg_infinity<T>());
  return D(log(ad::real(theta[static_cast<std::size_t>(k) - 1])));
}

/// Class k, from 1 on, has a probability proportional to exp(beta[k - 1]).
template <PlainNumber K, class R>
constexpr auto categorical_logit_lpmf(K k, const R& beta) {
  using D = ad::density_t<ad::entry_t<R>>;
  using T = scalar_t<D>;
  const auto place = static_cast<double>(k);
  if (!ad::is_count(place) || place < 1 || place > static_cast<double>(beta.size()))
    return D(ad::neg_infinity<T>());
  return D(beta[static_cast<std::size_t>(k) - 1] - log_sum_exp(beta));
}

/// Class k, from 1 on, of one more than there are cut points c, which rise: k is how many of them a logistic
/// number about eta is above, plus 1.
template <PlainNumber K, class E, class R>
constexpr auto ordered_logistic_lpmf(K k, const E& eta, const R& c) {
  using D = ad::density_t<E, ad::entry_t<R>>;
  using T = scalar_t<D>;
  const auto place = static_cast<double>(k);
  const std::size_t cuts = c.size();
  ad::mask_of<D> valid = T(0) == T(0);
  for (std::size_t i = 1; i < cuts; ++i) valid = valid && ad::plain<D>(c[i - 1]) < ad::plain<D>(c[i]);
  if (!ad::is_count(place) || place < 1 || place > static_cast<double>(cuts + 1))
    return ad::settled<D>(D(ad::neg_infinity<T>()), valid);
  const auto i = static_cast<std::size_t>(k) - 1;
  D density = T(0);
  if (i > 0) density += log_inv_logit(D(eta - c[i - 1]));
  if (i < cuts) density += log_inv_logit(D(c[i] - eta));
  if (i > 0 && i < cuts) density += log1m_exp(D(c[i - 1] - c[i]));
  return ad::settled<D>(density, valid);
}

}  // namespace onward
