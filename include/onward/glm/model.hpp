#pragma once
// Regressions on plain arrays as a kind of the registry: "glm", from .npy files, a family and priors in
// words.

namespace onward {
class ModelRegistry;
}

namespace onward::glm {

void register_models(ModelRegistry& registry);

}  // namespace onward::glm
