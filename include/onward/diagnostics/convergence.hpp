#pragma once
// How much the draws of one parameter can be trusted: effective sample size, R-hat and Monte Carlo error,
// computed step by step as ArviZ computes them (Vehtari et al. 2021), so that the figures can be compared.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace onward {

/// The draws of one parameter, one vector a chain. Chains of unequal length are cut to the shortest.
using Chains = std::vector<std::vector<double>>;

/// Effective sample size of the rank-normalised split chains: how well the centre is known.
/// NaN with fewer than 4 draws a chain or with a NaN draw; the number of draws if all are equal.
double ess_bulk(const Chains& chains);

/// The smaller effective sample size of the indicators x <= q05 and x <= q95: how well the tails are known.
double ess_tail(const Chains& chains);

/// Effective sample size of the split chains as they are, for the mean; its Monte Carlo error rests on it.
double ess_mean(const Chains& chains);

/// The larger of the rank-normalised split R-hats of the draws and of their distance from the median.
/// NaN with fewer than 2 chains, fewer than 4 draws a chain, a NaN draw, or draws that are all equal.
double rhat(const Chains& chains);

/// Monte Carlo standard error of the mean: sd / sqrt(ess_mean).
double mcse_mean(const Chains& chains);

/// Quantile by linear interpolation between order statistics (R's type 7); `values` in any order.
/// NaN if there are no values or one of them is NaN. `p` must lie in [0, 1].
double quantile(std::span<const double> values, double p);

/// One row of the summary table.
struct ParameterSummary {
  std::string name;
  double mean, sd, q5, q50, q95, mcse_mean, ess_bulk, ess_tail, rhat;
};

/// Every figure of the table at once, cheaper than one at a time: the draws are sorted once.
ParameterSummary summarise(std::string name, const Chains& chains);

/// Rows of the table for many parameters, several at a time: on `threads` threads, or as many as there are
/// cores (0) and memory allows. `chains_of(i)` gives the draws of the i-th and is called from any of them.
/// `progress`, if given, hears now and then, on the calling thread, how many rows are done.
std::vector<ParameterSummary> summarise_all(std::span<const std::string> names,
                                            const std::function<Chains(std::size_t)>& chains_of,
                                            std::size_t threads = 0,
                                            const std::function<void(std::size_t)>& progress = {});

}  // namespace onward
