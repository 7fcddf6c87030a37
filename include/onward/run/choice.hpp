#pragma once
// The sampler auto: short pilots of the sensible candidates, and the one with the most effective draws for
// its evaluations is taken. Evaluations are weighed by a fixed table of prices, never by the clock, so that
// the bits of a run depend on its settings alone.

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
  std::size_t warmup = 0;     ///< steps that cost as much as 1,000 sweeps of newton-line
  std::vector<Pilot> pilots;  ///< empty if a time limit or an interrupt left no time for them
};

/// Runs the pilots. Settings given by the user (metric, start, temperature, ...) hold for them too.
Choice choose_sampler(const AnyTarget& target, const RunSettings& settings, const Hooks& hooks);

/// The settings with the chosen sampler, and its thinning unless the user gave one.
RunSettings with_choice(RunSettings settings, const Choice& choice);

/// One line a pilot, best first.
std::string describe(const Choice& choice);

}  // namespace onward
