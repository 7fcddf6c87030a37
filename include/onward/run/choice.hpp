#pragma once
// The sampler auto. A model with a gradient is sampled by trajectories, whose warm-up shows what there is to
// know. For one without, short pilots of the sensible candidates are run, and the one with the most effective
// draws for its evaluations is taken. Evaluations are weighed by a fixed table of prices, never by the clock,
// so that the bits of a run depend on its settings alone.

#include <cstddef>
#include <string>
#include <vector>

#include "onward/run/settings.hpp"
#include "onward/target/target.hpp"

namespace onward {

struct Hooks;

/// What a candidate showed.
struct Pilot {
  std::string sampler;
  double min_ess = 0;      ///< least bulk ESS over the parameters
  double evaluations = 0;  ///< of the kept part, in plain evaluations of the density
  std::size_t steps = 0;   ///< of the kept part
  double score() const { return evaluations > 0 ? min_ess / evaluations : 0; }
};

struct Choice {
  std::string sampler;
  std::size_t thin = 1;       ///< steps from draw to draw that make draws nearly independent, within bounds
  std::size_t warmup = 0;     ///< steps; after pilots as many as cost what 1,000 sweeps of newton-line do
  std::vector<Pilot> pilots;  ///< best first; empty for trajectories, or if there was no time for them
};

/// Runs the pilots, if there is a need for them. Settings given by the user (metric, start, temperature, ...)
/// hold for them too.
Choice choose_sampler(const AnyTarget& target, const RunSettings& settings, const Hooks& hooks);

/// The settings with the chosen sampler, and its thinning unless the user gave one.
RunSettings with_choice(RunSettings settings, const Choice& choice);

/// The sampler and why, in one line.
std::string describe(const Choice& choice);

}  // namespace onward
