#pragma once
// What draws say of a hypothesis about parameters, such as "age > 0".

#include <cstddef>
#include <functional>
#include <optional>

#include "onward/diagnostics/convergence.hpp"
#include "onward/util/expression.hpp"

namespace onward {

struct Hypothesis {
  /// Of the left side minus the right.
  double estimate = 0, sd = 0, q2_5 = 0, q5 = 0, q95 = 0, q97_5 = 0;
  double mcse = 0;  ///< Monte Carlo standard error of the estimate

  /// Of a one-sided hypothesis: the share of draws in which it holds.
  struct Belief {
    double probability = 0;
    /// Monte Carlo standard error of the probability; NaN if it holds in all draws or in none.
    double mcse = 0;
    /// Then the probability is within this of 0 or 1, at a confidence of 95%: 3 / (effective draws).
    double bound = 0;
    /// For against not: probability / (1 - probability); infinite if it holds in all draws.
    double evidence_ratio = 0;
  };
  std::optional<Belief> belief = {};
};

/// `column` gives the draws of one parameter, by its place among the names that the comparison was read with.
/// Throws Error if the difference is not finite at some draw.
Hypothesis judge(const Comparison& comparison, const std::function<Chains(std::size_t)>& column);

}  // namespace onward
