#include "sample_report.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/plot/prediction_picture.hpp"
#include "onward/plot/run_picture.hpp"
#include "onward/sampler/samplers.hpp"
#include "progress_bar.hpp"

namespace onward::app {

namespace {

Chains drawn_chains(const Run& run, std::size_t parameter) {
  Chains chains = run.parameter(parameter);
  std::erase_if(chains, [](const auto& chain) { return chain.empty(); });
  return chains;
}

}  // namespace

SampledDraws summarise_run(const Run& run, bool quiet) {
  ProgressBar bar(quiet);
  return summarise_draws(run, [&](std::size_t done) {
    bar.show_pieces(done, run.names.size(), "computing the summary: ", "parameters");
  });
}

void draw_picture(const RunFolder& folder, const Run& run, const SampledDraws& sampled) {
  plot::run_picture((folder.path() / "draws.png").string(), run.names,
                    [&](std::size_t i) { return drawn_chains(run, i); }, sampled.parameters);
}

void draw_curve(const RunFolder& folder, const PredictedCurve& curve) {
  plot::prediction_picture((folder.path() / "predictions.png").string(),
                           {.x = curve.x,
                            .middle = curve.middle,
                            .low = curve.low,
                            .high = curve.high,
                            .label = curve.label,
                            .band_label = curve.band_label},
                           curve.data_x, curve.data_y, curve.y_label);
}

void print_result(const SampleSettings& s, const Model& model, const Run& run, const SampledDraws& sampled) {
  fmt::print("{}: {} of {} by {}, {} from draw to draw, seed {}\n\n", s.spec.kind,
             counted(sampled.chains, "chain"), counted(sampled.draws, "draw"), run.settings.sampler,
             counted(run.thin(), "step"), run.seed());
  std::vector<ParameterSummary> shown = sampled.parameters;
  const bool all = s.all_parameters;
  if (model.shown && !all && shown.size() > *model.shown) shown.resize(*model.shown);
  if (!shown.empty()) fmt::print("{}", table_for_stdout(shown, all));
  if (shown.size() < sampled.parameters.size())
    fmt::print("\nand {} effects of groups, which --show groups shows\n",
               sampled.parameters.size() - shown.size());
  double acceptance = 0;
  for (const auto& chain : run.chains) acceptance += chain.acceptance / static_cast<double>(sampled.chains);
  const std::string size = find_sampler(run.settings.sampler).tuned
                               ? fmt::format(", step size {:.3g}", run.chains.front().step_size)
                               : std::string();
  fmt::print("\nacceptance {:.2f}{}; warm-up {}, sampling {}, {:.3g} steps/s\n", acceptance, size,
             duration(run.warmup_seconds), duration(run.sampling_seconds), run.steps_per_second());
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

namespace {

/// Bulk and tail; infinite if there are none.
double least_ess(std::span<const ParameterSummary> parameters) {
  double least = INFINITY;
  for (const auto& parameter : parameters)
    for (const double ess : {parameter.ess_bulk, parameter.ess_tail}) least = std::fmin(least, ess);
  return least;
}

/// Of thousands of levels some always have chains apart by a little: they are counted, and do not speak for
/// the run.
void print_levels(std::span<const ParameterSummary> levels, std::size_t chains) {
  const auto apart = std::ranges::count_if(levels, [](const auto& s) { return s.rhat > rhat_limit; });
  const double limit = ess_limit_per_chain * static_cast<double>(chains);
  const auto few = std::ranges::count_if(levels, [&](const auto& s) { return least_ess({&s, 1}) < limit; });
  if (apart == 0 && few == 0) return;
  say("note: of the {}, {} an R-hat above {} and {} an ESS below {:.0f}; look at them with --show groups "
      "before you rely on single ones\n",
      counted(levels.size(), "effect") + " of groups", apart == 1 ? "1 has" : fmt::format("{} have", apart),
      rhat_limit, few == 1 ? "1 has" : fmt::format("{} have", few), limit);
}

}  // namespace

void print_notes(const Run& run, const Model& model, const SampledDraws& sampled, bool all_shown) {
  for (const auto& note : run.notes()) say("note: {}\n", note);
  // What the table shows is what warnings are about; the rest are effects of groups.
  const std::span<const ParameterSummary> all(sampled.parameters);
  const auto shown =
      all.first(all_shown ? all.size() : std::min(all.size(), model.shown.value_or(all.size())));
  if (sampled.chains > 0 && !shown.empty()) {
    const bool has_metric = find_sampler(run.settings.sampler).kernel;
    const bool other_metric = has_metric && !model.beyond_metrics && run.settings.metric != MetricKind::dense;
    for (const auto& warning :
         warnings({shown.begin(), shown.end()}, sampled.chains, sampled.draws, other_metric, option_words))
      say("warning: {}\n", warning);
    for (const auto& warning : trajectory_warnings(run.trajectories(), option_words))
      say("warning: {}\n", warning);
    print_levels(all.subspan(shown.size()), sampled.chains);
  }
  const double least = least_ess(shown);
  if (run.settings.until_ess && run.ending == Ending::complete && least < *run.settings.until_ess)
    say("note: each chain made its most draws, {}, before every ESS was {}: the least is {:.0f}. A "
        "larger --max-draws with --resume goes on\n",
        sampled.draws, *run.settings.until_ess, least);
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
