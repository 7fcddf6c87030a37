#pragma once
// Networks as a kind of the registry: "net", from a description of layers and arrays or images.

namespace onward {
class ModelRegistry;
}

namespace onward::net {

/// Not done unless it is called: the core knows nothing of networks.
void register_models(ModelRegistry& registry);

}  // namespace onward::net
