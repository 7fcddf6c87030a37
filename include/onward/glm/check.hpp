#pragma once
// Posterior predictive checks: data sets that a regression makes up from its draws, beside the one that it
// was fitted to. A statistic of the data that hardly any of the made-up data sets reaches is one that the
// model does not account for.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "onward/glm/predict.hpp"

namespace onward::glm {

/// What can be asked of the numbers of a data set: mean, sd, min, max, and zeros, the share of zeros.
std::vector<std::string> check_statistics();

struct CheckOptions {
  /// Some of check_statistics(); none: those that suit the response. A response with classes has the share of
  /// each class instead.
  std::vector<std::string> statistics = {};
  std::string group = {};  ///< a column of the table: statistics also for each of its values
  std::size_t replicates =
      1000;  ///< data sets that are made up, from as many draws, or from all that there are
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: as many as there are cores; the figures are the same for any number
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t rows, std::size_t of)> progress = {};
};

/// A statistic of the data and of each replicated data set.
struct CheckedStatistic {
  std::string name;
  double observed = 0;
  std::vector<double> replicated = {};

  /// The share of replicated data sets whose statistic is above that of the data; equal ones count half, so
  /// that a statistic which is the same in all of them has 0.5.
  double p() const;
};

/// The statistics of all rows, or of those of one level.
struct CheckedRows {
  std::string level = {};  ///< empty for all rows
  std::size_t rows = 0;
  std::vector<CheckedStatistic> statistics = {};
};

struct PredictiveCheck {
  std::string response;                   ///< as the formula has it
  std::vector<std::string> classes = {};  ///< of a response with classes: values are their numbers, from 0
  bool whole = true;                      ///< whether all values, observed and replicated, are whole numbers
  std::size_t rows = 0, replicates = 0;
  std::vector<CheckedRows> parts = {};  ///< all rows first, then each level of the group
  std::vector<std::string> notes = {};  ///< what the user should know, in whole sentences

  /// Values for pictures. Of many rows every second, third, ... is here, and of the replicated data sets as
  /// many as fit into 32 MB.
  std::vector<double> y = {};
  std::vector<std::vector<double>> replicated = {};  ///< by data set
  std::vector<std::uint32_t> part =
      {};  ///< of each of these rows: its place in `parts`; 0 if it has no level
};

/// `data` are those that the regression was fitted to. Throws UsageError for statistics that there are not,
/// Error for a column that is not there or has more than 2,000 values. Gives nothing if it was stopped.
std::optional<PredictiveCheck> predictive_check(const FittedRegression& fitted, const Table& data,
                                                const StoredDraws& draws, const CheckOptions& options = {});

}  // namespace onward::glm
