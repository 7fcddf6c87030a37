#pragma once
// Simulation-based calibration of regressions: parameters come from their priors, data from the model given
// these, and the sampler is run on the data. If priors, model and sampler fit together, the rank of the true
// value of a parameter among its draws is equally likely to be any (Talts et al. 2018). Histograms of ranks
// over many replicates show whether that is so.
//
// Priors must be the same in all replicates, and must not depend on the data that are made up: those that are
// not given in words are settled once, from the data that the formula is given with.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "onward/model/model.hpp"

namespace onward::glm {

struct CalibrationOptions {
  std::size_t replicates = 200;
  std::size_t draws = 127;  ///< nearly independent ones in each replicate; ranks go from 0 to this
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: as many as there are cores
  /// Priors in words that parameters come from where those are not the ones that the sampler believes in: to
  /// see that ranks tell.
  std::string simulated_prior = {};
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done)> progress = {};  ///< by any thread, one at a time
};

/// The ranks of one parameter.
struct RankHistogram {
  std::string name;
  std::vector<std::size_t> ranks;   ///< of each replicate
  std::vector<std::size_t> counts;  ///< by bins
  /// (mean rank - its expectation) / its standard error: below 0, draws tend to be too large.
  double bias = 0;
  /// Mean squared distance from the middle, standardised likewise: above 0, draws are too narrow.
  double spread = 0;
  bool within = true;  ///< whether all counts are within the band
};

struct Calibration {
  std::size_t replicates = 0, draws = 0, bins = 0;
  std::size_t low = 0, high = 0;  ///< the band: 99.9% of histograms of uniform ranks lie wholly within
  std::vector<RankHistogram> parameters;
  std::size_t most_thinning = 0;  ///< sweeps from draw to draw in the replicate that needed most
  double least_ess = 0;           ///< of the draws that ranks are among, over replicates and parameters
  std::string priors;             ///< in a line
  std::vector<std::string> notes;
};

/// `spec` is of a regression from a formula. Nothing if it was stopped. Throws UsageError for priors that
/// cannot be drawn from, for weights and for categorical responses, Error where data that were made up cannot
/// be sampled.
std::optional<Calibration> calibrate(const ModelSpec& spec, const CalibrationOptions& options = {});

/// The counts that each of `bins` may have when `count` uniform ranks fall into them: together they are left
/// with a probability of 0.001 at most.
std::pair<std::size_t, std::size_t> rank_band(std::size_t count, std::size_t bins);

}  // namespace onward::glm
