#pragma once
// What `onward sample` shows of a run: table, notes and picture.

#include <vector>

#include "onward/diagnostics/convergence.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/model/model.hpp"
#include "onward/run/moments.hpp"
#include "onward/run/run.hpp"
#include "sample_settings.hpp"

namespace onward::app {

/// What the chains gave that have draws. A run that was cut short may have chains that had not begun.
struct Sampled {
  std::size_t chains = 0, draws = 0;
  std::vector<ParameterSummary> parameters;
};
/// Says how far it is, unless it is to be quiet: millions of draws take minutes.
Sampled summarise_run(const Run& run, bool quiet = true);

/// As run.json has it.
const char* status_word(Ending ending);

void draw_picture(const RunFolder& folder, const Run& run);
/// predictions.png, for a network with one input and one output, or two classes: the mean over draws, a band
/// of 1.645 standard deviations between draws about it (the noise left out), and the data.
void draw_curve(const RunFolder& folder, const PredictedCurve& curve);
void print_result(const SampleSettings& settings, const Run& run, const Sampled& sampled);
/// mean.npy and sd.npy: one number for each parameter.
void write_moments(const RunFolder& folder, const MomentsSink& moments);
void print_moments(const SampleSettings& settings, const std::vector<std::string>& names,
                   const MomentsSink& moments);
/// `beyond_metrics`: as Model has it.
void print_notes(const Run& run, const Sampled& sampled, bool beyond_metrics);

}  // namespace onward::app
