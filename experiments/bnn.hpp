#pragma once
// The paper's Table 3: regression by a network with 40,701 parameters on 400 points. Every sampler runs in a
// process of its own, so that its peak memory is its own, and leaves a row: how well its draws tell the
// points, how far they came, and what a step cost. Two temperatures: 400, with which the published figures
// were made (the density that was sampled is the posterior's to the power of 1/400), and 1, the posterior.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "rows.hpp"

namespace onward::experiments {

/// The paper's numbers; each can be changed.
struct BnnSettings {
  std::vector<std::string> samplers{"rwm",      "mala",          "fmala",      "line-fmala",
                                    "pc-fmala", "pc-line-fmala", "newton-line"};
  std::vector<double> temperatures{400, 1};
  std::size_t steps = 50'000, burn = 10'000, thin = 100;
  std::size_t chains = 1;  ///< of each sampler; several start at different places
  std::vector<std::size_t> hidden{100, 100, 100, 100, 100};
  double prior_sd = 0.1, sigma = 0.025;
  /// Of line samplers; the others have directions on the sphere. "sphere" is the paper's.
  std::string directions = "units";
  std::map<std::string, double> step_sizes = {};  ///< in place of the stored ones
  bool tune = false;                              ///< look for step sizes first
  std::size_t tune_steps = 4000;                  ///< of each trial
  std::size_t tune_trials = 10;
  std::size_t curve_points = 40;  ///< of the figure's curves
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: all cores
  std::string data;         ///< .npy with rows of x and y; empty: made_points()
  std::string folder;       ///< where finished rows are kept and found again; empty: nowhere
};

/// Checks every field; throws UsageError with field, value and what is allowed.
void validate(const BnnSettings& settings);

/// The step size that is stored for a sampler at a temperature with the paper's network; none for
/// newton-line, nor for temperatures other than 400 and 1. With those, and for other networks, it is looked
/// for.
std::optional<double> stored_bnn_step_size(std::string_view sampler, double temperature);

/// x and y of each point.
using Points = std::vector<std::pair<double, double>>;
/// A set of the kind that the paper used: three clusters of x, a smooth curve, noise of a tenth of y's sd.
Points made_points(std::uint64_t seed, std::size_t count = 400);
/// From a .npy file with two columns. Throws Error if it has other ones, too few rows or entries that are not
/// finite.
Points read_points(const std::string& file);

/// How well the mean predictive density of some draws tells the points.
struct BnnScores {
  double nll = 0, mse = 0;
};

/// A point of a sampler's curve.
struct BnnPoint {
  double step, seconds;
  double nll_draw;  ///< of the draw there alone
  double nll;       ///< of the last 100 kept draws there
  double log_density;
};

/// What draws predict at a grid of x: mean, and quantiles of the curve without noise.
struct BnnBand {
  std::vector<double> x, mean, low, high;  ///< 5% and 95%
};

/// Kept draws are those of each chain.
struct BnnRow : SamplerRow {
  double temperature = 1;
  std::size_t points = 0;
  std::string directions;
  BnnScores last, all;  ///< from the last 100 kept draws, as in the paper, and from all; means over chains
  std::vector<BnnScores> last_of_chains, all_of_chains;  ///< of each
  double nll_middle = 0;                                 ///< the same when half of the kept draws were made
  double bytes_before = 0;                               ///< what the process held before there was a network
  double log_density_start = 0, log_density = 0;  ///< of what is sampled; mean over the last 100 kept draws
  double weight_rms = 0;                          ///< of the last draw's parameters
  std::vector<BnnPoint> curve;                    ///< of the first chain
  BnnBand band;
};

/// What the paper printed, at temperature 400.
struct PublishedBnnRow {
  double nll, mse, ms_per_step, ms_sd;
};
std::optional<PublishedBnnRow> published_bnn(std::string_view sampler);

struct BnnTable {
  BnnSettings settings;
  std::vector<BnnRow> rows;
  double seconds = 0;
};

/// Rows that are finished, and the share of the next.
using BnnProgress = std::function<void(std::size_t finished, double share)>;

/// Runs the experiment. If `stop` becomes true the sampler at work is given up, finished rows are in the
/// folder, and std::nullopt is returned. Must be called while the process has one thread: it forks.
std::optional<BnnTable> bnn_table(const BnnSettings& settings, const BnnProgress& progress,
                                  const std::atomic<bool>& stop);

/// One sampler in this process.
BnnRow bnn_row(const BnnSettings& settings, const std::string& sampler, double temperature,
               const std::function<void(double share)>& progress, const std::atomic<bool>& stop);

nlohmann::ordered_json to_json(const BnnRow& row);
BnnRow bnn_row_from_json(const nlohmann::ordered_json& json);

}  // namespace onward::experiments
