#pragma once
// Runs of a sampler on a posterior that was made ready: their figures, the setting with the best of them, and
// their speed.

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"
#include "posterior_problem.hpp"

namespace onward::bench {

/// A sampler at one setting.
struct Setting {
  const SamplerInfo* sampler;
  double value;  ///< step size, or relaxation of a sampler that has none
  std::string directions = "auto";
  Tangent tangent = Tangent::kept;
};

/// What runs in the problem's units have in common: one chain without warm-up from the given start.
RunSettings whitened_run(const Setting& setting, std::vector<double> start);

/// The setting with the most ESS per evaluation, for the sampler of `like`.
Setting tune(const Problem& problem, const Setting& like, const Effort& effort,
             const std::atomic<bool>& stop);

/// Nothing if it was stopped.
std::optional<SamplerFigures> measure(const Problem& problem, const Setting& setting, const Effort& effort,
                                      const std::atomic<bool>& stop);
/// The sampler on the target itself, from random starts, by its own warm-up on half of the budget.
std::optional<SamplerFigures> measure_untuned(const Problem& problem, const SamplerInfo& sampler,
                                              const Effort& effort, const std::atomic<bool>& stop);

/// Steps per second of each setting, in turn: the best of several rounds.
std::vector<double> measure_speed(const Problem& problem, const std::vector<Setting>& settings, bool quick,
                                  const std::atomic<bool>& stop);

}  // namespace onward::bench
