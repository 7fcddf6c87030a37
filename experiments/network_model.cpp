#include "network_model.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "onward/model/registry.hpp"
#include "onward/net/data.hpp"
#include "onward/net/description_json.hpp"
#include "onward/net/model.hpp"

namespace onward::experiments {
namespace {

/// Of our own: whether the process has added networks to its registry does not matter then.
const ModelRegistry& registry_with_networks() {
  static const ModelRegistry registry = [] {
    ModelRegistry all;
    net::register_models(all);
    return all;
  }();
  return registry;
}

}  // namespace

Model network_model(const net::Description& layers, nlohmann::ordered_json options,
                    std::map<std::string, Array> arrays, const std::string& start) {
  ModelSpec spec{"net", std::move(options)};
  spec.options["net"] = net::to_json(layers);
  for (const auto& [name, array] : arrays) spec.options[name] = "memory:" + name;
  return registry_with_networks().build(spec,
                                        {.start = start, .checksums = false, .arrays = std::move(arrays)});
}

net::NetworkPosterior network_posterior(const Model& model, std::size_t threads) {
  net::NetworkPosterior posterior = net::posterior_of(model);
  posterior.use_pool(std::make_shared<ThreadPool>(threads));
  return posterior;
}

std::map<std::string, Array> made_images(std::size_t count) {
  std::vector<std::uint8_t> pixels(count * 3072), labels(count);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
  return {{"x", Array::of(std::move(pixels), {count, 3, 32, 32})}, {"y", Array::of(std::move(labels))}};
}

nlohmann::ordered_json cifar10_pixels() {
  const net::Normalisation normalise = net::cifar10_normalisation();
  return {{"pixel_mean", fmt::format("{}", fmt::join(normalise.mean, ","))},
          {"pixel_sd", fmt::format("{}", fmt::join(normalise.sd, ","))}};
}

}  // namespace onward::experiments
