#pragma once
// The log likelihood of each observation at the draws of a run that is on file: the model is built again from
// run.json, and the draws are read from the run's files. Whether the run kept log likelihoods does not
// matter.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "onward/diagnostics/loo.hpp"
#include "onward/io/stored_draws.hpp"
#include "onward/model/model.hpp"
#include "onward/run/run.hpp"

namespace onward {

struct StoredLikelihood {
  std::string kind;  ///< of the model
  PointwiseLogLikelihood log_likelihood;
  /// The row of the table, from 0, that each observation is, if some rows are none: those that were left out
  /// for missing values, and those of weight 0 or without trials, which say nothing and would make standard
  /// errors wrong. Empty: all rows are.
  std::vector<std::size_t> rows;
  std::size_t rows_of_data = 0;  ///< that the model was fitted to, those of weight 0 included
  /// What was observed, as a number that is the same for the same outcomes (with their trials and weights);
  /// nothing if the model does not tell.
  std::optional<std::uint64_t> observed;
  /// Names, numbers and notes of the files of draws. The draws themselves are in memory once, and not here.
  StoredDraws files;
};

/// Of a model at draws of its parameters. Throws Error if the model has no single observations.
StoredLikelihood likelihood_at(const Model& model, StoredDraws draws);

/// Leave-one-out cross-validation of a run in memory: `loo(onward::Model(target), run)`, for a target with a
/// log_likelihood(). Throws Error if the model has no single observations.
Loo loo(const Model& model, const Run& run, const LooOptions& options = {});

/// Throws Error for a folder without a run or without draws, data that have changed, a model that has no
/// single observations, and a run at a temperature other than 1. `reading` hears how many of all files of
/// draws are read.
StoredLikelihood read_stored_likelihood(
    const std::filesystem::path& folder,
    const std::function<void(std::size_t done, std::size_t all)>& reading = {});

}  // namespace onward
