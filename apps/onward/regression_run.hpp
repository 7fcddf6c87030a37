#pragma once
// A regression on file: what was fitted, and its draws.

#include <filesystem>
#include <string>

#include "onward/glm/predict.hpp"
#include "onward/io/stored_draws.hpp"

namespace onward::app {

struct RegressionRun {
  glm::FittedRegression fitted;
  StoredDraws draws;
};

/// Reads it, with notes on what is to be known of the run. Throws Error for a run that is none of a
/// regression from a formula. `own_data`: its table is to be read again, so it must not have changed.
RegressionRun read_regression_run(const std::filesystem::path& folder, bool own_data, bool quiet);

/// The table in a file, read as that of the run was; empty: the run's own.
Table read_as_fitted(const glm::FittedRegression& fitted, const std::string& file);

}  // namespace onward::app
