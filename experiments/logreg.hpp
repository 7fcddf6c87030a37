#pragma once
// The paper's Table 2: logistic (softmax) regression on MNIST, D = 7,850. Every sampler runs in a process of
// its own, so that its peak memory is its own, and leaves a row: how well its draws predict the test images,
// how far up the posterior it came, how many effective draws it made, and what a step cost.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/diagnostics/calibration.hpp"
#include "rows.hpp"

namespace onward::experiments {

/// The paper's numbers; each can be changed.
struct LogregSettings {
  /// newton-line: dense directions; -block: one class at a time; -axis: the axis sampler of regressions.
  std::vector<std::string> samplers{"rwm",
                                    "mala",
                                    "fmala",
                                    "line-fmala",
                                    "pc-fmala",
                                    "pc-line-fmala",
                                    "newton-line",
                                    "newton-line-block",
                                    "newton-line-axis"};
  std::size_t images = 60'000;  ///< of the training set, the first so many
  std::size_t steps = 100'000, burn = 50'000, thin = 100;
  std::size_t sweeps = 400;     ///< newton-line-axis counts sweeps of 7,850 steps; a sixth is burned
  std::size_t axis_chains = 2;  ///< of newton-line-axis; the others have one, as in the paper
  std::map<std::string, double> step_sizes = {};  ///< in place of the stored ones
  bool tune = false;                              ///< look for step sizes first
  std::size_t tune_steps = 500;                   ///< of each trial
  std::size_t tune_trials = 8;                    ///< of each of three searches, a twentieth of the run apart
  std::size_t curve_points = 30;                  ///< of the figure's curves
  std::size_t curve_draws = 100;                  ///< draws that a point of a curve averages over at most
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: all cores
  std::string data;         ///< folder with files of MNIST's names; empty: MNIST from the cache
  std::string folder;       ///< where finished rows are kept and found again; empty: nowhere
};

/// Checks every field; throws UsageError with field, value and what is allowed.
void validate(const LogregSettings& settings);

/// The step size that is stored for a sampler at the paper's settings; none for newton-line.
std::optional<double> stored_step_size(std::string_view sampler);

/// How well mean predictive probabilities tell the test images.
using Prediction = ClassScores;

/// One point of a sampler's curve: what one would have had if the run had ended then, half of it burned.
struct LogregPoint {
  double seconds, nll, accuracy, log_density;
};

/// Kept draws are those of all chains.
struct LogregRow : SamplerRow {
  std::size_t images = 0;  ///< that it was trained on
  Prediction last, all;    ///< from the last 100 kept draws, as in the paper, and from all
  double set_up_seconds = 0;
  double log_density_start = 0, log_density = 0;  ///< at the start, and the mean over the last 100 kept draws
  double ess_log_density = 0, ess_weights_least = 0, ess_weights_median = 0;  ///< bulk, of kept draws
  std::optional<double> rhat_log_density;                                     ///< with several chains
  std::vector<LogregPoint> curve;
};

/// What the paper printed.
struct PublishedLogregRow {
  double nll, accuracy, ece, ms_per_step, ms_sd;
};
std::optional<PublishedLogregRow> published_logreg(std::string_view sampler);

struct LogregTable {
  LogregSettings settings;
  std::vector<LogregRow> rows;
  double seconds = 0;
};

/// Which sampler is at work, and its share of the way.
using LogregProgress = std::function<void(const std::string& sampler, double share)>;

/// Runs the experiment. If `stop` becomes true the sampler at work is given up, finished rows are in the
/// folder, and std::nullopt is returned. Must be called while the process has one thread: it forks.
std::optional<LogregTable> logreg_table(const LogregSettings& settings, const LogregProgress& progress,
                                        const std::atomic<bool>& stop);

/// One sampler in this process.
LogregRow logreg_row(const LogregSettings& settings, const std::string& sampler,
                     const std::function<void(double share)>& progress, const std::atomic<bool>& stop);

nlohmann::ordered_json to_json(const LogregRow& row);
LogregRow logreg_row_from_json(const nlohmann::ordered_json& json);

}  // namespace onward::experiments
