#pragma once
// Draws from distributions, by Stan's names and parametrisations: what a model generates from its parameters.

#include <cstddef>
#include <cstdint>
#include <span>

#include "onward/random/sequence.hpp"

namespace onward {

/// The random numbers that belong to one draw of one chain: the same for the same seed, chain and step,
/// whatever the threads, and independent of those that the sampler uses.
///
/// Counts are doubles, since draws are. Parameters that make no sense (a scale below 0, a probability above
/// 1) give NaN.
class Random {
 public:
  Random(const Stream& stream, std::uint64_t step) : numbers_(stream, step, Purpose::generated) {}
  /// Of a place that belongs to no chain: the numbers depend on its bits alone.
  static Random of_place(std::span<const double> place);

  /// Between 0 and 1, which it never is.
  double uniform() { return numbers_.uniform(); }
  double uniform(double a, double b);
  double normal() { return numbers_.normal(); }
  double normal(double mu, double sigma);
  double lognormal(double mu, double sigma);
  double student_t(double nu, double mu, double sigma);
  double cauchy(double mu, double sigma);
  double double_exponential(double mu, double sigma);
  double logistic(double mu, double sigma);
  double exponential(double beta);
  double gamma(double shape, double rate);
  double inv_gamma(double shape, double rate);
  double chi_square(double nu);
  double weibull(double alpha, double sigma);
  double beta(double a, double b);

  /// 0 or 1.
  double bernoulli(double theta);
  double bernoulli_logit(double alpha);
  double binomial(double trials, double theta);
  double binomial_logit(double trials, double alpha);
  /// Means above 1e8 are taken for those of a normal distribution, rounded.
  double poisson(double lambda);
  double poisson_log(double eta);
  /// With mean mu and variance mu + mu² / phi.
  double neg_binomial_2(double mu, double phi);
  double neg_binomial_2_log(double eta, double phi);
  /// A class from 1 on.
  double categorical(std::span<const double> theta);
  double categorical_logit(std::span<const double> beta);
  double ordered_logistic(double eta, std::span<const double> cuts);

  /// Numbers of sum 1.
  void dirichlet(std::span<const double> alpha, std::span<double> out);

 private:
  RandomSequence numbers_;
};

}  // namespace onward
