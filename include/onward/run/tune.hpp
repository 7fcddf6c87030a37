#pragma once
// Step size by search, the paper's way: short runs at one step size after another, and the best of them is
// taken. `grid` tries a grid; `bayes` puts a Gaussian process over the logarithm of the step size and tries
// next where it expects the most improvement. Nothing depends on the clock.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onward/run/run.hpp"

namespace onward {

enum class Search { grid, bayes };
std::string_view to_string(Search search);
Search search_from_string(std::string_view name);  ///< throws UsageError

struct TuneSettings {
  Search search = Search::bayes;
  std::size_t trials = 15;
  std::optional<double> least = {},
                        most = {};  ///< of the range; without: a factor 10 about what warm-up finds
  /// What is to be as large as possible; without one: least bulk ESS per evaluation. A run that gives no
  /// number counts as the worst.
  std::function<double(const Run&)> score = {};
  double max_seconds = 0;  ///< no trial is begun after so long; 0: no limit
};

struct Trial {
  double step_size;
  double score;  ///< -infinity if the run gave none
  double acceptance;
};

struct Tuning {
  Search search{};
  double step_size = 0;       ///< the best
  std::vector<Trial> trials;  ///< in the order in which they were made
};

/// Searches a step size for settings.sampler. Trials have the settings' warm-up, draws and chains, but learn
/// no step size. Throws UsageError for a sampler without one. If hooks.stop is set, the best so far is
/// returned.
Tuning tune_step_size(const AnyTarget& target, const RunSettings& settings, const TuneSettings& tune,
                      const Hooks& hooks = {});

/// The settings of a short trial for a run with those settings: two chains, a fifth of the length.
RunSettings trial_settings(const RunSettings& settings, std::size_t dimension);

/// Least bulk ESS over the parameters per plain evaluation of the density, by the fixed table of prices.
double ess_per_evaluation(const Run& run);

/// Where a Gaussian process through the points (x, y) expects the most improvement over the largest y, among
/// the candidates. Its length is the likeliest of a few, its noise is learnt likewise.
double most_promising(const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<double>& candidates);

}  // namespace onward
