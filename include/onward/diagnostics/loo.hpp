#pragma once
// How well a model would predict observations that it has not seen: leave-one-out cross-validation by Pareto
// smoothed importance sampling (psis.hpp), and WAIC, as R's package loo 2.5 has them.
//
//     auto result = onward::loo(log_likelihood);     // a PointwiseLogLikelihood
//     fmt::print("{} +- {}\n", result->elpd.value, result->elpd.se);
//
// Observations are independent of each other here. They are taken a block at a time, so that a million rows
// need no more memory than a few thousand, and on several threads; the bits do not depend on either.

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace onward {

/// The log likelihood of every observation at every draw. Only a part of it is in memory at a time.
struct PointwiseLogLikelihood {
  std::size_t observations = 0, chains = 0;
  std::size_t draws = 0;  ///< of each chain
  /// Of the observations first, first + 1, ... at a draw. Draws are counted through all chains. Several
  /// threads may call it at a time.
  std::function<void(std::size_t draw, std::size_t first, std::span<double> out)> at;
};

struct LooOptions {
  std::size_t threads = 0;                  ///< 0: as many as there are cores
  std::size_t block_bytes = 256'000'000;    ///< of log likelihoods that are in memory at a time
  const std::atomic<bool>* stop = nullptr;  ///< set it, and the work ends without a result
  /// Hears on the calling thread how many of all observations are done, in fractions of blocks.
  std::function<void(double observations)> progress = {};
};

/// A sum over observations and its standard error.
struct Estimate {
  double value = 0, se = 0;
};

/// What leaving out one observation says.
struct LooPoint {
  double elpd = 0;    ///< log predictive density of the observation, by a fit without it
  double mcse = 0;    ///< Monte Carlo standard error of elpd; means nothing if k is above 0.7
  double p = 0;       ///< how much of the fit is owed to the observation: effective parameters
  double k = 0;       ///< shape of the tail of the importance weights; see psis()
  double n_eff = 0;   ///< effective number of draws behind elpd
  bool same = false;  ///< the log likelihood is the same at all draws: elpd is exact, whatever k is
};

struct Loo {
  /// Upper ends of the classes of k: good, ok, bad and very bad.
  static constexpr std::array<double, 3> k_limits{0.5, 0.7, 1.0};

  std::size_t chains = 0, draws = 0;
  std::vector<LooPoint> points = {};
  Estimate elpd = {}, p = {}, looic = {};
  /// Observations with k in (-inf, 0.5], (0.5, 0.7], (0.7, 1] and (1, inf].
  std::array<std::size_t, 4> k_counts{};
  std::array<double, 4> least_n_eff{};  ///< in these classes; NaN where there is no observation

  /// Monte Carlo standard error of elpd; NaN if some k is above 0.7.
  double mcse() const;
};

struct WaicPoint {
  double elpd = 0;
  double p = 0;  ///< the variance of the log likelihood; above 0.4 WAIC cannot be trusted
};

struct Waic {
  static constexpr double p_limit = 0.4;

  std::size_t chains = 0, draws = 0;
  std::vector<WaicPoint> points = {};
  Estimate elpd = {}, p = {}, waic = {};
  std::size_t p_above_limit = 0;  ///< observations
};

/// Of one observation, from its log likelihoods: chain after chain, all of one length.
LooPoint loo_point(std::span<const double> log_likelihood, std::size_t chains);
WaicPoint waic_point(std::span<const double> log_likelihood);

/// Of all observations; nothing if it was stopped. Throws Error if there are no draws or no observations, or
/// with the first observation whose log likelihood is not finite at some draw.
std::optional<Loo> loo(const PointwiseLogLikelihood& log_likelihood, const LooOptions& options = {});
std::optional<Waic> waic(const PointwiseLogLikelihood& log_likelihood, const LooOptions& options = {});

/// One of several models of the same observations.
struct ComparedModel {
  std::size_t model = 0;  ///< its place among those that were compared
  double elpd_diff = 0;   ///< to the best model: 0 or negative
  double se_diff = 0;     ///< of that difference, from the differences of the observations
};

/// The best model first. `elpds`: for each model the elpd of each observation. Throws UsageError if the
/// numbers of observations differ.
std::vector<ComparedModel> compare_models(std::span<const std::vector<double>> elpds);

}  // namespace onward
