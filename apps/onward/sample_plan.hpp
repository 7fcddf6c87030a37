#pragma once
// From what `onward sample` was told to what is to be sampled and how.

#include <memory>
#include <optional>

#include "onward/model/model.hpp"
#include "onward/record/recording.hpp"
#include "sample_settings.hpp"

namespace onward::app {

struct Plan {
  Model model;
  std::unique_ptr<ChainMaker> maker;
  /// What pilots and searches try. A model that samples itself is not held as a target besides: its data
  /// would then be in memory twice.
  std::optional<AnyTarget> target;
  std::unique_ptr<Recorder> recorder;

  /// Everything is drawn: lets go of the data, so that summaries and pictures do not come on top of them.
  void release_data();
};

/// Builds the model; fills in what the user left open.
Plan make_plan(SampleSettings& settings);

/// Refuses what could never be kept, before anything of that size is made.
void check_memory(const RunSettings& settings, bool keeps_draws, std::size_t parameters);

}  // namespace onward::app
