#include "sample_plan.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/error.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/glm/mode.hpp"
#include "onward/run/kernel_chain.hpp"
#include "onward/util/memory.hpp"

namespace onward::app {
namespace {

/// Whether the sampler, or one that is yet to be chosen, may take jets on two lines at once.
bool may_pair(const RunSettings& run) { return run.sampler == "line-fmala" || run.sampler == "auto"; }

/// How many vectors of all parameters a chain on a network has at most.
double held_vectors(const RunSettings& run) {
  if (run.vectors == Vectors::regenerated) return 2;
  const double metric = run.metric && *run.metric != MetricKind::none ? 3 : 0;
  if (run.sampler == "mala") return metric + 9;
  if (run.sampler == "fmala" || run.sampler == "pc-fmala") return metric + 8;
  if (run.sampler == "rwm") return metric + 5;
  // A line sampler's own, and the tables of each source of directions.
  const double own = may_pair(run) ? 5 : 4;
  const double sources =
      run.directions == "sphere" ? 0 : 1 + static_cast<double>(std::ranges::count(run.directions, '+'));
  return metric + own + 3 * sources;
}

void plan_net(SampleSettings& s, Plan& plan) {
  s.net.chains = s.run.chains;
  s.net.vectors = held_vectors(s.run);
  s.net.for_mala = s.run.sampler == "mala";
  s.net.in_pairs = may_pair(s.run);
  for (const char* within_layers : {"blocks", "units"})
    if (s.run.directions.find(within_layers) != std::string::npos) s.net.keep_otherwise = usual_keep;
  plan.net.emplace(make_net(s.net, s.glm, "--init", s.init));
  if (!s.quiet)
    for (const auto& note : plan.net->notes) say("note: {}\n", note);
  const auto& posterior = plan.net->posterior;
  if (posterior.dimension() > large_network) set_large_defaults(s.run);
  if (shows_predictions(s.net, posterior)) {
    // Rows in the table: what fits a screen.
    const std::size_t rows = std::clamp<std::size_t>(50 / posterior.network().layout.output().size(), 1, 20);
    plan.target.emplace(
        net::PredictionView(posterior, plan.net->test.first(std::min(rows, plan.net->test.count()))));
  } else {
    plan.target.emplace(posterior);
  }
  if (s.run.sampler == "mala") check_gradient_memory(s.net, *plan.net);
  plan.model = net_json(s.net, s.glm, *plan.net);
}

void plan_regression(SampleSettings& s, Plan& plan) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  auto posterior =
      make_regression(s.glm, std::make_shared<ThreadPool>(s.run.threads > 0 ? s.run.threads : cores));
  plan.name_indices = posterior.name_indices();
  plan.priors = glm::describe_priors(posterior);
  plan.model = glm_json(s.glm);
  plan.model["priors"] = priors_json(posterior);
  if (s.run.sampler == "auto" || s.run.sampler == glm::AxisChainMaker::sampler) {
    plan.maker = std::make_unique<glm::AxisChainMaker>(std::move(posterior),
                                                       glm::AxisOptions{.relaxation = s.run.relaxation});
    return;
  }
  const auto warnings = glm::data_warnings(posterior, posterior.pool());
  if (!s.quiet)
    for (const auto& warning : warnings) say("note: {}\n", warning);
  plan.target.emplace(std::move(posterior));
}

}  // namespace

Plan make_plan(SampleSettings& s) {
  Plan plan;
  s.check_model();
  if (is_glm(s)) {
    plan_regression(s, plan);
  } else if (is_net(s)) {
    plan_net(s, plan);
  } else {
    plan.target.emplace(make_model(s.model).target);
    plan.model = {{"name", s.model.name}};
    if (s.model.options.dimension) plan.model["dim"] = *s.model.options.dimension;
    if (s.model.options.condition) plan.model["condition"] = *s.model.options.condition;
  }
  if (!plan.maker) plan.maker = std::make_unique<KernelChainMaker>(*plan.target);
  plan.names = plan.maker->names();
  return plan;
}

std::vector<std::string> files_of(const SampleSettings& s) {
  std::vector<std::string> files;
  // Where models that are not networks start is told by the settings, number by number.
  for (const std::string& file : {s.glm.x, s.glm.y, s.glm.trials, s.glm.offset, s.glm.weights, s.glm.names,
                                  s.net.net, s.net.test_x, s.net.test_y, is_net(s) ? s.init : std::string()})
    if (std::error_code error; std::filesystem::is_regular_file(file, error)) files.push_back(file);
  return files;
}

void check_memory(const RunSettings& s, std::size_t parameters) {
  // A chain has its draws, some vectors of its own and a little besides, which counts where chains are many.
  constexpr double own_vectors = 10, own_bytes = 8192;
  const double bytes =
      (8.0 * static_cast<double>(parameters) * (static_cast<double>(s.draws) + own_vectors) + own_bytes) *
      static_cast<double>(s.chains);
  const double memory = machine_bytes();
  // A run that stops when it is done makes as many draws as it needs, mostly far fewer than it may.
  if (bytes > memory / 2 && !s.until_ess)
    throw UsageError(fmt::format(
        "{} draws of {} parameters in {} chains would take {:.3g} GB of this machine's {:.3g} GB; keep fewer "
        "by --draws (with a larger --thin), or take fewer --chains or a smaller --dim",
        s.draws, parameters, s.chains, bytes / 1e9, memory / 1e9));
}

}  // namespace onward::app
