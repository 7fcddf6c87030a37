#include "sample_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/glm/axis_sampler.hpp"
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

Sampled summarise_run(const Run& run) {
  Sampled sampled;
  for (const auto& chain : run.chains) {
    if (chain.draws == 0) continue;
    sampled.draws = ++sampled.chains == 1 ? chain.draws : std::min(sampled.draws, chain.draws);
    sampled.most_draws = std::max(sampled.most_draws, chain.draws);
  }
  for (std::size_t i = 0; i < run.names.size(); ++i)
    sampled.parameters.push_back(summarise(run.names[i], drawn_chains(run, i)));
  return sampled;
}

void draw_picture(const RunFolder& folder, const Run& run) {
  std::vector<plot::NamedChains> parameters;
  // More than six would not fit a page.
  for (std::size_t i = 0; i < run.names.size() && i < 6; ++i)
    parameters.push_back({run.names[i], drawn_chains(run, i)});
  plot::run_picture((folder.path() / "draws.png").string(), parameters);
}

void print_result(const SampleSettings& s, const Run& run, const Sampled& sampled) {
  fmt::print("{}: {} of {} by {}, {} from draw to draw, seed {}\n\n", s.spec.kind,
             counted(sampled.chains, "chain"), counted(sampled.draws, "draw"), run.settings.sampler,
             counted(*run.settings.thin, "step"), *run.settings.seed);
  fmt::print("{}", summary_table(sampled.parameters,
                                 {.max_rows = s.all_parameters ? std::size_t{0} : std::size_t{50}}));
  double acceptance = 0;
  for (const auto& chain : run.chains) acceptance += chain.acceptance / static_cast<double>(sampled.chains);
  const std::string size = find_sampler(run.settings.sampler).tuned
                               ? fmt::format("step size {:.3g}", run.chains.front().step_size)
                               : fmt::format("relaxation {:.3g}", *run.settings.relaxation);
  fmt::print("\nacceptance {:.2f}, {}; warm-up {}, sampling {}, {:.3g} steps/s\n", acceptance, size,
             duration(run.warmup_seconds), duration(run.sampling_seconds), run.steps_per_second());
}

void print_notes(const Run& run, const Sampled& sampled, bool beyond_metrics) {
  const Counts counts = run.counts();
  if (counts.nonfinite > 0)
    say("note: {} of {} evaluations were not finite{}; each was a rejection\n", counts.nonfinite,
        counts.jets() + counts.gradients,
        counts.threw > 0
            ? fmt::format(", {} because the model said so ({})", counts.threw, counts.first_message)
            : std::string());
  if (sampled.chains > 0) {
    print_uneven_chains(run.chains.size(), sampled.chains, sampled.draws, sampled.most_draws);
    const bool by_axes = run.settings.sampler == glm::AxisChainMaker::sampler;
    const bool other_metric = !by_axes && !beyond_metrics && run.settings.metric != MetricKind::dense;
    for (const auto& warning : warnings(sampled.parameters, sampled.chains, sampled.draws, other_metric))
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
