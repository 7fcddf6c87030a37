#pragma once
// The samplers of the paper's convolutional network in the words of the library: how each is set up, among
// which step sizes it is tried, and what its steps cost.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onward/net/posterior.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::experiments {

struct CnnSampler {
  std::string_view name;
  BiasCorrection correction;
  double shortest, longest;  ///< step sizes of the grid; 0: it has none
  Order order;               ///< of its jets
  double price;              ///< of a step, in plain evaluations

  bool has_step_size() const { return longest > 0; }
};
/// Throws UsageError that suggests the nearest name.
const CnnSampler& find_cnn_sampler(std::string_view name);

KernelSettings kernel_settings(const CnnSampler& sampler, std::optional<double> step_size);

/// How mala's gradients are made; nothing for the others.
std::vector<std::optional<net::GradientForm>> forms_of(const CnnSampler& sampler);
/// "whole", "pieces", "checkpoint".
std::string_view word_of(net::GradientForm form);

}  // namespace onward::experiments
