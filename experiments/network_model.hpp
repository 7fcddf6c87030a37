#pragma once
// The networks of the paper's tables and of the benchmarks, built as any model is: by a specification, with
// data in memory.

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "onward/model/model.hpp"
#include "onward/net/description.hpp"
#include "onward/net/posterior.hpp"

namespace onward::experiments {

/// A network of these layers. The arrays are options by their names: x, y, test_x. Checksums are left out,
/// since nothing is stored here. Chains begin at zeros unless another start is named.
Model network_model(const net::Description& layers, nlohmann::ordered_json options,
                    std::map<std::string, Array> arrays, const std::string& start = "zeros");

/// Its posterior, with so many threads to share an evaluation.
net::NetworkPosterior network_posterior(const Model& model, std::size_t threads);

/// Pixels x and labels y of made images, 3x32x32 in 10 classes: times and memory do not depend on what they
/// are.
std::map<std::string, Array> made_images(std::size_t count);

/// What `pixel_mean` and `pixel_sd` of the net are for CIFAR-10.
nlohmann::ordered_json cifar10_pixels();

}  // namespace onward::experiments
