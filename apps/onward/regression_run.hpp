#pragma once
// A regression on file: what was fitted, and its draws.

#include <filesystem>
#include <string>

#include "onward/error.hpp"
#include "onward/glm/predict.hpp"
#include "onward/io/stored_draws.hpp"
#include "program.hpp"

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

/// Does what needs all effects of a run. One that did not keep them has to be sampled again: messages name
/// the options of `sampling`, the command that does it.
template <class Do>
auto in_words_of(const CLI::App& sampling, const Do& what) {
  try {
    return what();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& problem) {
    throw Error(in_option_words(sampling, problem.what()));
  }
}

}  // namespace onward::app
