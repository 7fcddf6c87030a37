#pragma once
// Priors as numbers, for run.json.

#include <nlohmann/json.hpp>

#include "onward/glm/mixed_posterior.hpp"

namespace onward::glm {

nlohmann::ordered_json priors_json(const RegressionPosterior& posterior);
/// With those of the groups.
nlohmann::ordered_json priors_json(const MixedPosterior& posterior);

}  // namespace onward::glm
