#include "sample_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/error.hpp"
#include "onward/glm/prior_words.hpp"
#include "onward/record/earlier.hpp"
#include "onward/util/memory.hpp"

namespace onward::app {

namespace {

/// For --from: a prior of the earlier run that does not go with what was typed is told as such, since whoever
/// reads of it may never have seen it.
Model build_model(const SampleSettings& s) {
  try {
    return build(s.spec, {.run = &s.run, .start = s.init});
  } catch (const glm::PriorError& problem) {
    if (s.from.empty()) throw;
    const auto options = ModelSpec::from_json(read_run_json(s.from)["model"]).options;
    const auto earlier = glm::parse_priors(options.value("prior", std::string()));
    if (std::ranges::find(earlier, problem.statement(), &glm::PriorStatement::text) == earlier.end()) throw;
    throw UsageError(fmt::format(
        "{}. This prior is from the run in {}, and --prior adds to those: give the options without --from",
        problem.what(), s.from));
  }
}

}  // namespace

Plan make_plan(SampleSettings& s) {
  s.check_model();
  Plan plan{build_model(s), nullptr, std::nullopt, nullptr};
  Model& model = plan.model;
  const auto tell = [&](const std::vector<std::string>& notes) {
    if (!s.quiet)
      for (const auto& note : notes) say("note: {}\n", s.in_options(note));
  };
  tell(model.notes);
  if (model.set_defaults) model.set_defaults(s.run);
  const bool own = model.samples_itself(s.run);
  if (!own && model.check_data) tell(model.check_data());
  plan.recorder = std::make_unique<Recorder>(model, s.recording());
  plan.maker = make_chains(model, s.run);
  if (!own) plan.target.emplace(std::move(model.target));
  return plan;
}

void Plan::release_data() {
  maker.reset();
  target.reset();
  static_cast<void>(AnyTarget(std::move(model.target)));
  model.own_sampler.reset();
  model.log_likelihood = {};
  model.check_data = {};
  model.data.clear();
}

void check_memory(const RunSettings& s, bool keeps_draws, std::size_t parameters) {
  // A chain has its draws, some vectors of its own and a little besides, which counts where chains are many.
  constexpr double own_vectors = 10, own_bytes = 8192;
  // A run that stops when it is done makes as many draws as it needs, mostly far fewer than it may.
  const std::size_t draws = !keeps_draws ? 0 : s.until_ess ? std::min(s.draws, s.min_draws) : s.draws;
  const double bytes =
      (8.0 * static_cast<double>(parameters) * (static_cast<double>(draws) + own_vectors) + own_bytes) *
      static_cast<double>(s.chains);
  const double memory = machine_bytes();
  if (bytes > memory / 2)
    throw UsageError(fmt::format(
        "{} draws of {} parameters in {} chains would take {:.3g} GB of this machine's {:.3g} GB; keep fewer "
        "by --draws (with a larger --thin), or take fewer --chains or a smaller --dim",
        draws, parameters, s.chains, bytes / 1e9, memory / 1e9));
}

}  // namespace onward::app
