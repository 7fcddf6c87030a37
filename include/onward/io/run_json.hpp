#pragma once
// The results of a run in JSON, as `sample --json` and summary.json have them.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/run/run.hpp"
#include "onward/run/tune.hpp"

namespace onward {

/// How the sampler was chosen.
nlohmann::ordered_json choice_json(const Choice& choice);

/// The step sizes that were tried.
nlohmann::ordered_json tuning_json(const Tuning& tuning);

/// One object a parameter; numbers that are not finite become null.
nlohmann::ordered_json summary_json(const std::vector<ParameterSummary>& parameters);

/// Each figure as a list with an entry for each chain.
nlohmann::ordered_json trajectories_json(const std::vector<ChainTrajectories>& chains);

/// What `sample --json` prints (docs/files.md); `parameters` is left out if there are more than `most` of
/// them.
nlohmann::ordered_json result_json(const std::string& model, const Run& run,
                                   const std::vector<ParameterSummary>& parameters, std::size_t most = 1000);

/// Largest R-hat and smallest ESS; NaN if there is none.
struct WorstCase {
  double rhat, ess_bulk, ess_tail;
};
WorstCase worst_case(const std::vector<ParameterSummary>& parameters);

}  // namespace onward
