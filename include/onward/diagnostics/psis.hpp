#pragma once
// Pareto smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024), step by step as R's
// package loo 2.5 does it, so that the figures can be compared. The largest weights are replaced by quantiles
// of a generalised Pareto distribution that is fitted to them, and its shape k says whether the weights can
// be trusted.

#include <cstddef>
#include <span>
#include <vector>

namespace onward {

/// A generalised Pareto distribution of what lies above a cutoff.
struct ParetoFit {
  double k;      ///< shape, drawn a little towards 0.5 by the prior of loo; infinite if there is no fit
  double sigma;  ///< scale
};

/// By the method of Zhang and Stephens (2009). `sorted`: the excesses over the cutoff, ascending.
ParetoFit fit_pareto(std::span<const double> sorted);

struct SmoothedWeights {
  std::vector<double> log_weights;  ///< not normalised; none is above the largest of the raw ones
  /// The shape of the tail: infinite if the tail is too short (fewer than 5 weights), or all the same.
  double k;
};

/// The weights of draws, smoothed. `relative_efficiency` decides how many of them are the tail.
SmoothedWeights psis(std::span<const double> log_ratios, double relative_efficiency = 1);

/// Effective draws of the likelihood per draw, from its logarithms: chain after chain, all of one length. As
/// loo's relative_eff() has it, the chains are not split, and values that are all the same have 0.5. 1 if
/// there are fewer than 4 draws in a chain.
double relative_efficiency(std::span<const double> log_values, std::size_t chains);

/// log of the sum of exponentials; infinite or NaN values are passed on.
double log_sum_exp(std::span<const double> values);

}  // namespace onward
