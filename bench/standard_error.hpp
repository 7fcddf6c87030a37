#pragma once
// The standard error of an estimated standard deviation.

#include <cmath>

#include "onward/diagnostics/convergence.hpp"

namespace onward::bench {

/// From the effective draws of squares: of over-relaxed chains, as of NUTS's, they are fewer than those of
/// the mean.
inline double sd_error(const Chains& chains, double mean, double sd) {
  Chains squares = chains;
  double sum = 0, sum_of_squares = 0, count = 0;
  for (auto& chain : squares)
    for (double& x : chain) {
      x = (x - mean) * (x - mean);
      sum += x, sum_of_squares += x * x, ++count;
    }
  const double variance = sum_of_squares / count - (sum / count) * (sum / count);
  return std::sqrt(variance / ess_mean(squares)) / (2 * sd);
}

}  // namespace onward::bench
