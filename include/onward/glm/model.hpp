#pragma once
// Regressions as models: of data in memory, and as the kind "glm" of the registry, from a table and a formula
// or from .npy files, a family and priors in words.

#include "onward/glm/mixed_posterior.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/model/model.hpp"

namespace onward {
class ModelRegistry;
}

namespace onward::glm {

/// With its own sampler, along axes; what a specification would say of files is left open. A design that
/// nobody else holds will give its memory to that sampler.
Model regression_model(RegressionPosterior data);
/// The same with groups, sampled by moves that reach all levels at once. Effects are reported as far as the
/// posterior says.
Model regression_model(MixedPosterior data);

void register_models(ModelRegistry& registry);

}  // namespace onward::glm
