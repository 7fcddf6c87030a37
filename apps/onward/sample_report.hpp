#pragma once
// What `onward sample` shows of a run: table, notes and picture.

#include <vector>

#include "onward/diagnostics/convergence.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/run/run.hpp"
#include "sample_settings.hpp"

namespace onward::app {

/// What the chains gave that have draws. A run that was cut short may have chains that had not begun.
struct Sampled {
  std::size_t chains = 0, draws = 0, most_draws = 0;
  std::vector<ParameterSummary> parameters;
};
Sampled summarise_run(const Run& run);

/// As run.json has it.
const char* status_word(Ending ending);

void draw_picture(const RunFolder& folder, const Run& run);
void print_result(const SampleSettings& settings, const Run& run, const Sampled& sampled);
/// `beyond_metrics`: as Model has it.
void print_notes(const Run& run, const Sampled& sampled, bool beyond_metrics);

}  // namespace onward::app
