#pragma once
// Importance sampling from the posterior of the built-in stochastic volatility model. Given phi and sigma the
// log variances h and their mean mu are nearly normal: the proposal is a normal whose precision is
// tridiagonal but for one row and column (mu's). phi and sigma come from a Student-t proposal fitted to a
// first round of draws.

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "onward/random/stream.hpp"
#include "stochastic_volatility.hpp"

namespace onward::models {

class StochasticVolatilityPosterior {
 public:
  StochasticVolatilityPosterior();
  /// A draw of mu, the free numbers of phi and sigma, and z; and its log weight.
  double draw(const Stream& stream, std::span<double> out) const;

 private:
  /// Two free numbers, logit of (phi + 1)/2 and log sigma, by a Student-t proposal.
  struct Proposal {
    Eigen::Vector2d centre;
    Eigen::Matrix2d lower;  ///< Cholesky factor of its spread
  };
  double draw(const Proposal& proposal, const Stream& stream, std::span<double> out) const;
  /// The proposal with the mean and covariance of what another one gives.
  Proposal fitted(const Proposal& first) const;

  StochasticVolatilityDensity density_;
  ParametrisedDensity<decltype(stochastic_volatility_parameters(1)), StochasticVolatilityDensity>
      target_density_;  ///< over the free numbers
  Proposal proposal_;
};

}  // namespace onward::models
