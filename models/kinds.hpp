#pragma once
// The built-in models as kinds of the registry.

namespace onward {
class ModelRegistry;
}

namespace onward::models {

void register_models(ModelRegistry& registry);

}  // namespace onward::models
