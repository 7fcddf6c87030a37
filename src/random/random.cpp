#include "onward/random/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace onward {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double inv_logit(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Random Random::of_place(std::span<const double> place) {
  // Fowler, Noll and Vo's hash over whole numbers of 64 bits.
  std::uint64_t hash = 14695981039346656037ULL;
  for (const double x : place) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    hash = (hash ^ bits ^ (bits >> 32)) * 1099511628211ULL;
  }
  return {Stream(hash, 0), 0};
}

double Random::uniform(double a, double b) { return a < b ? a + (b - a) * uniform() : nan; }
double Random::normal(double mu, double sigma) { return sigma > 0 ? mu + sigma * normal() : nan; }
double Random::lognormal(double mu, double sigma) { return std::exp(normal(mu, sigma)); }
double Random::student_t(double nu, double mu, double sigma) {
  if (!(nu > 0 && sigma > 0)) return nan;
  const double z = normal();
  return mu + sigma * z / std::sqrt(numbers_.gamma(0.5 * nu) / (0.5 * nu));
}
double Random::cauchy(double mu, double sigma) {
  return sigma > 0 ? mu + sigma * std::tan(std::numbers::pi * (uniform() - 0.5)) : nan;
}
double Random::double_exponential(double mu, double sigma) {
  if (!(sigma > 0)) return nan;
  const double u = uniform() - 0.5;
  return mu - std::copysign(sigma, u) * std::log1p(-2 * std::abs(u));
}
double Random::logistic(double mu, double sigma) {
  if (!(sigma > 0)) return nan;
  const double u = uniform();
  return mu + sigma * (std::log(u) - std::log1p(-u));
}
double Random::exponential(double beta) { return beta > 0 ? -std::log(uniform()) / beta : nan; }
double Random::gamma(double shape, double rate) {
  return shape > 0 && rate > 0 ? numbers_.gamma(shape) / rate : nan;
}
double Random::inv_gamma(double shape, double rate) { return 1 / gamma(shape, rate); }
double Random::chi_square(double nu) { return gamma(0.5 * nu, 0.5); }
double Random::weibull(double alpha, double sigma) {
  return alpha > 0 && sigma > 0 ? sigma * std::pow(-std::log(uniform()), 1 / alpha) : nan;
}
double Random::beta(double a, double b) {
  const double x = gamma(a, 1), y = gamma(b, 1);
  return x / (x + y);
}

double Random::bernoulli(double theta) {
  if (!(theta >= 0 && theta <= 1)) return nan;
  return uniform() < theta ? 1 : 0;
}
double Random::bernoulli_logit(double alpha) { return bernoulli(inv_logit(alpha)); }
double Random::binomial(double trials, double theta) {
  if (!(theta >= 0 && theta <= 1 && trials >= 0)) return nan;
  if (theta == 0 || trials == 0) return 0;
  if (theta == 1) return trials;
  return numbers_.binomial(trials, std::log(theta) - std::log1p(-theta));
}
double Random::binomial_logit(double trials, double alpha) {
  if (std::isnan(alpha) || !(trials >= 0)) return nan;
  return trials == 0 ? 0 : numbers_.binomial(trials, alpha);
}
double Random::poisson(double lambda) { return lambda >= 0 ? numbers_.poisson(lambda) : nan; }
double Random::poisson_log(double eta) { return poisson(std::exp(eta)); }
double Random::neg_binomial_2(double mu, double phi) {
  if (!(mu > 0 && phi > 0)) return nan;
  return numbers_.poisson(mu * (numbers_.gamma(phi) / phi));
}
double Random::neg_binomial_2_log(double eta, double phi) { return neg_binomial_2(std::exp(eta), phi); }

double Random::categorical(std::span<const double> theta) {
  double left = 0;
  for (const double p : theta) left += p;
  if (!(left > 0) || !std::isfinite(left)) return nan;
  double u = uniform() * left;
  std::size_t last = 0;  // with a probability: rounding must not lead to one without
  for (std::size_t k = 0; k < theta.size(); ++k) {
    if (!(theta[k] > 0)) continue;
    last = k;
    if ((u -= theta[k]) < 0) break;
  }
  return static_cast<double>(last + 1);
}
double Random::categorical_logit(std::span<const double> beta) {
  // The class whose exponential arrives first.
  double best = std::numeric_limits<double>::infinity();
  std::size_t first = 0;
  for (std::size_t k = 0; k < beta.size(); ++k) {
    if (std::isnan(beta[k])) return nan;
    const double arrival = std::log(-std::log(uniform())) - beta[k];
    if (arrival < best) best = arrival, first = k;
  }
  return beta.empty() ? nan : static_cast<double>(first + 1);
}
double Random::ordered_logistic(double eta, std::span<const double> cuts) {
  const double x = logistic(eta, 1);
  if (std::isnan(x)) return nan;
  return static_cast<double>(1 + std::ranges::count_if(cuts, [x](double c) { return x > c; }));
}

void Random::dirichlet(std::span<const double> alpha, std::span<double> out) {
  double sum = 0;
  for (std::size_t k = 0; k < out.size(); ++k) sum += out[k] = gamma(alpha[k], 1);
  for (double& x : out) x /= sum;
}

}  // namespace onward
