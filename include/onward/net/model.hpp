#pragma once
// Networks as a kind of the registry: "net", from a description of layers and arrays or images.

#include "onward/net/posterior.hpp"

namespace onward {
class ModelRegistry;
struct Model;
}  // namespace onward

namespace onward::net {

/// Not done unless it is called: the core knows nothing of networks.
void register_models(ModelRegistry& registry);

/// Of a model that was built as a network: for other predictions than its own, and to ask what memory it
/// needs. Throws UsageError for any other model.
NetworkPosterior posterior_of(const Model& model);

}  // namespace onward::net
