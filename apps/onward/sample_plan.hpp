#pragma once
// From what `onward sample` was told to what is to be sampled and how.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/run/chain.hpp"
#include "sample_settings.hpp"

namespace onward::app {

struct Plan {
  std::unique_ptr<ChainMaker> maker;
  /// What pilots and searches try. A regression that is sampled along its axes is not held as a target
  /// besides: its data would then be in memory twice.
  std::optional<AnyTarget> target;
  std::optional<NetModel> net;
  std::vector<std::string> names;
  std::vector<std::size_t> name_indices;  ///< of a regression; see csv_names
  std::string priors;                     ///< of a regression, in words
  nlohmann::ordered_json model;           ///< for run.json: what, from which files, with which options
};

/// Reads the files and checks everything; fills in what the user left open.
Plan make_plan(SampleSettings& settings);

/// The files that the model and the start were read from.
std::vector<std::string> files_of(const SampleSettings& settings);

/// Refuses what could never be kept, before anything of that size is made.
void check_memory(const RunSettings& settings, std::size_t parameters);

}  // namespace onward::app
