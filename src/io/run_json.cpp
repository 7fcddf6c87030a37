#include "onward/io/run_json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "onward/run/setting_fields.hpp"
#include "onward/util/memory.hpp"

namespace onward {

using nlohmann::ordered_json;

ordered_json choice_json(const Choice& choice) {
  auto pilots = ordered_json::array();
  for (const auto& pilot : choice.pilots)
    pilots.push_back({{"sampler", pilot.sampler},
                      {"min_ess_bulk", pilot.min_ess},
                      {"evaluations", pilot.evaluations},
                      {"steps", pilot.steps},
                      {"ess_per_evaluation", pilot.score()}});
  return {{"sampler", choice.sampler}, {"thin", choice.thin}, {"pilots", pilots}};
}

ordered_json tuning_json(const Tuning& tuning) {
  auto trials = ordered_json::array();
  for (const auto& trial : tuning.trials)
    trials.push_back(
        {{"step_size", trial.step_size}, {"score", trial.score}, {"acceptance", trial.acceptance}});
  return {{"search", to_string(tuning.search)}, {"step_size", tuning.step_size}, {"trials", trials}};
}

ordered_json summary_json(const std::vector<ParameterSummary>& parameters) {
  auto rows = ordered_json::array();
  for (const auto& p : parameters)
    rows.push_back({{"name", p.name},
                    {"mean", p.mean},
                    {"sd", p.sd},
                    {"q5", p.q5},
                    {"q50", p.q50},
                    {"q95", p.q95},
                    {"mcse_mean", p.mcse_mean},
                    {"ess_bulk", p.ess_bulk},
                    {"ess_tail", p.ess_tail},
                    {"rhat", p.rhat}});
  return rows;
}

ordered_json trajectories_json(const std::vector<ChainTrajectories>& chains) {
  ordered_json out{{"divergent", ordered_json::array()},
                   {"max_depth_reached", ordered_json::array()},
                   {"leapfrogs", ordered_json::array()},
                   {"e_bfmi", ordered_json::array()}};
  for (const ChainTrajectories& chain : chains) {
    out["divergent"].push_back(chain.divergent);
    out["max_depth_reached"].push_back(chain.deepest);
    out["leapfrogs"].push_back(chain.leapfrogs);
    out["e_bfmi"].push_back(chain.energy_fraction);
  }
  return out;
}

WorstCase worst_case(const std::vector<ParameterSummary>& parameters) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  WorstCase worst{none, none, none};
  for (const auto& p : parameters) {
    worst.rhat = std::fmax(worst.rhat, p.rhat);  // fmax and fmin pass over NaN
    worst.ess_bulk = std::fmin(worst.ess_bulk, p.ess_bulk);
    worst.ess_tail = std::fmin(worst.ess_tail, p.ess_tail);
  }
  return worst;
}

ordered_json result_json(const std::string& model, const Run& run,
                         const std::vector<ParameterSummary>& parameters, std::size_t most) {
  auto step_sizes = ordered_json::array(), acceptances = ordered_json::array();
  std::uint64_t floored = 0;
  for (const auto& chain : run.chains) {
    step_sizes.push_back(chain.step_size);
    acceptances.push_back(chain.acceptance);
    floored += chain.floored;
  }
  const Counts counts = run.counts();
  const WorstCase worst = worst_case(parameters);
  ordered_json out{{"model", model},
                   {"dimension", run.dimension},
                   {"sampler", run.settings.sampler},
                   {"settings", settings_json(run.settings)},
                   {"seed", run.seed()},
                   {"chains", run.settings.chains},
                   {"draws", run.draws()},
                   {"step_size", step_sizes},
                   {"acceptance", acceptances},
                   {"seconds", {{"warmup", run.warmup_seconds}, {"sampling", run.sampling_seconds}}},
                   {"steps_per_second", run.steps_per_second()},
                   {"jets", counts.jets()},
                   {"gradients", counts.gradients},
                   {"nonfinite", counts.nonfinite},
                   {"curvature_floored", floored},
                   {"max_rhat", worst.rhat},
                   {"min_ess_bulk", worst.ess_bulk},
                   {"min_ess_tail", worst.ess_tail},
                   {"peak_rss_bytes", static_cast<std::uint64_t>(std::max(0.0, peak_resident_bytes()))}};
  if (const auto chains = run.trajectories(); !chains.empty())
    out["trajectories"] = trajectories_json(chains);
  if (run.choice) out["choice"] = choice_json(*run.choice);
  if (parameters.size() <= most) out["parameters"] = summary_json(parameters);
  return out;
}

}  // namespace onward
