#include "sample_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/io/npy.hpp"
#include "onward/plot/prediction_picture.hpp"
#include "onward/plot/run_picture.hpp"
#include "onward/sampler/samplers.hpp"
#include "progress_bar.hpp"

namespace onward::app {

const char* status_word(Ending ending) {
  switch (ending) {
    case Ending::complete:
      return "complete";
    case Ending::interrupted:
      return "interrupted";
    case Ending::time_limit:
      return "stopped at the time limit";
  }
  return "";
}

namespace {

Chains drawn_chains(const Run& run, std::size_t parameter) {
  Chains chains = run.parameter(parameter);
  std::erase_if(chains, [](const auto& chain) { return chain.empty(); });
  return chains;
}

}  // namespace

Sampled summarise_run(const Run& run, bool quiet) {
  Sampled sampled;
  for (const auto& chain : run.chains) {
    if (chain.draws == 0) continue;
    sampled.draws = ++sampled.chains == 1 ? chain.draws : std::min(sampled.draws, chain.draws);
  }
  // Draws that were not kept say nothing.
  const bool kept = std::ranges::all_of(
      run.chains, [&](const auto& chain) { return chain.values.size() == chain.draws * run.names.size(); });
  if (!kept) return sampled;
  ProgressBar bar(quiet);
  sampled.parameters = summarise_all(
      run.names, [&](std::size_t i) { return drawn_chains(run, i); }, run.settings.threads,
      [&](std::size_t done) {
        bar.show_pieces(done, run.names.size(), "computing the summary: ", "parameters");
      });
  return sampled;
}

void draw_picture(const RunFolder& folder, const Run& run) {
  plot::run_picture((folder.path() / "draws.png").string(), run.names,
                    [&](std::size_t i) { return drawn_chains(run, i); });
}

namespace {

/// How a standardised number is turned back.
struct Unit {
  double mean = 0, sd = 1;
};

Unit unit_of(const NetModel& model, const char* which) {
  if (!model.units.contains(which)) return {};
  const auto& unit = model.units.at(which);
  return {unit.at("mean").at(0).get<double>(), unit.at("sd").at(0).get<double>()};
}

std::vector<double> places(const net::Inputs& inputs, const Unit& unit) {
  std::vector<float> values(inputs.count());
  inputs.read_channels_last(0, inputs.count(), values.data());
  std::vector<double> result;
  for (const float value : values) result.push_back(unit.mean + unit.sd * value);
  return result;
}

}  // namespace

void draw_predictions(const RunFolder& folder, const NetModel& model, const net::Predictive& predictive) {
  const net::Data& data = model.posterior.data();
  const bool classes = predictive.of_classes();
  if (model.test.shape().size() != 1 || predictive.width() != (classes ? 2 : 1)) return;
  const Unit x_unit = unit_of(model, "x"), y_unit = classes ? Unit{} : unit_of(model, "y");
  const auto mean = predictive.mean(), sd = predictive.sd();
  plot::PredictionBand band{
      .x = places(model.test, x_unit), .label = "mean over draws", .band_label = "1.645 sd between draws"};
  for (std::size_t row = 0; row < predictive.rows(); ++row) {
    const std::size_t entry = classes ? 2 * row + 1 : row;  // of two classes the second
    constexpr double from_mean = 1.645;                     // the 5% and 95% points of a normal
    const auto at = [&](double sds) { return y_unit.mean + y_unit.sd * (mean[entry] + sds * sd[entry]); };
    band.middle.push_back(at(0));
    band.low.push_back(classes ? std::max(at(-from_mean), 0.0) : at(-from_mean));
    band.high.push_back(classes ? std::min(at(from_mean), 1.0) : at(from_mean));
  }
  std::vector<double> answers;
  for (std::size_t row = 0; row < data.count(); ++row)
    answers.push_back(classes ? static_cast<double>(data.answers.label(row))
                              : y_unit.mean + y_unit.sd * data.answers.row(row)[0]);
  plot::prediction_picture((folder.path() / "predictions.png").string(), band, places(data.inputs, x_unit),
                           answers, classes ? "probability of the second class" : "y");
}

void print_result(const SampleSettings& s, const Run& run, const Sampled& sampled) {
  fmt::print("{}: {} of {} by {}, {} from draw to draw, seed {}\n\n", s.model.name,
             counted(sampled.chains, "chain"), counted(sampled.draws, "draw"), run.settings.sampler,
             counted(*run.settings.thin, "step"), *run.settings.seed);
  if (!sampled.parameters.empty()) fmt::print("{}", table_for_stdout(sampled.parameters, s.all_parameters));
  double acceptance = 0;
  for (const auto& chain : run.chains) acceptance += chain.acceptance / static_cast<double>(sampled.chains);
  const std::string size = find_sampler(run.settings.sampler).tuned
                               ? fmt::format("step size {:.3g}", run.chains.front().step_size)
                               : fmt::format("relaxation {:.3g}", run.settings.relaxation);
  fmt::print("\nacceptance {:.2f}, {}; warm-up {}, sampling {}, {:.3g} steps/s\n", acceptance, size,
             duration(run.warmup_seconds), duration(run.sampling_seconds), run.steps_per_second());
}

void write_moments(const RunFolder& folder, const MomentsSink& moments) {
  const auto write = [&](const char* name, const std::vector<double>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    write_npy(folder.path() / name, {{{values.size()}, "<f8"}, {bytes.begin(), bytes.end()}});
  };
  write("mean.npy", moments.mean());
  write("sd.npy", moments.sd());
}

void print_moments(const SampleSettings& s, const std::vector<std::string>& names,
                   const MomentsSink& moments) {
  const auto mean = moments.mean(), sd = moments.sd();
  const std::size_t shown = s.all_parameters ? names.size() : std::min<std::size_t>(50, names.size());
  std::size_t width = 4;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, names[i].size());
  fmt::print("\n{:<{}}  {:>10}  {:>10}\n", "name", width, "mean", "sd");
  for (std::size_t i = 0; i < shown; ++i)
    fmt::print("{:<{}}  {:>10.4g}  {:>10.4g}\n", names[i], width, mean[i], sd[i]);
  if (shown < names.size()) fmt::print("... and {} more in mean.npy and sd.npy\n", names.size() - shown);
}

void print_notes(const SampleSettings& s, const Run& run, const Sampled& sampled) {
  for (const auto& note : run.notes()) say("note: {}\n", note);
  if (sampled.chains > 0 && !sampled.parameters.empty()) {
    const bool by_axes = run.settings.sampler == glm::AxisChainMaker::sampler;
    const bool large = is_net(s) && run.dimension > large_network;
    const bool other_metric = !by_axes && !large && run.settings.metric != MetricKind::dense;
    for (const auto& warning :
         warnings(sampled.parameters, sampled.chains, sampled.draws, other_metric, option_words))
      say("warning: {}\n", warning);
  }
  double drift = 0;
  for (const auto& chain : run.chains) drift = std::max(drift, chain.largest_drift);
  // Ten times the rounding that a few hundred moves leave in a predictor of ordinary size.
  constexpr double worth_a_word = 1e-2;
  if (drift > worth_a_word)
    say("note: cached predictors were off by up to {:.2g} when they were computed afresh; standardise X, and "
        "if y has a large mean subtract it\n",
        drift);
  const auto so_far = sampled.chains == 0 ? std::string("in warm-up, without draws")
                                          : fmt::format("after {} draws a chain", sampled.draws);
  if (run.ending == Ending::interrupted) say("interrupted {}\n", so_far);
  if (run.ending == Ending::time_limit)
    say("note: stopped at --max-seconds {} {}{}\n", run.settings.max_seconds, so_far,
        sampled.chains == 0 ? ": allow more time or a shorter --warmup" : "");
}

}  // namespace onward::app
