#pragma once
// What `onward sample` shows of a run: table, notes and picture.

#include <vector>

#include "onward/io/run_folder.hpp"
#include "onward/model/model.hpp"
#include "onward/record/recording.hpp"
#include "onward/run/moments.hpp"
#include "onward/run/run.hpp"
#include "sample_settings.hpp"

namespace onward::app {

/// Says how far it is, unless it is to be quiet: millions of draws take minutes.
SampledDraws summarise_run(const Run& run, bool quiet);

void draw_picture(const RunFolder& folder, const Run& run, const SampledDraws& sampled);
/// predictions.png, for a network with one input and one output, or two classes: the mean over draws, a band
/// of 1.645 standard deviations between draws about it (the noise left out), and the data.
void draw_curve(const RunFolder& folder, const PredictedCurve& curve);
void print_result(const SampleSettings& settings, const Model& model, const Run& run,
                  const SampledDraws& sampled);
void print_moments(const SampleSettings& settings, const std::vector<std::string>& names,
                   const MomentsSink& moments);
/// `all_shown`: the table has every parameter, not only those that the model shows.
void print_notes(const Run& run, const Model& model, const SampledDraws& sampled, bool all_shown);

}  // namespace onward::app
