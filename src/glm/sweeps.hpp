#pragma once
// What the samplers of regressions have in common: they go by sweeps, each of which counts as as many steps
// as there are parameters.

#include <algorithm>
#include <cstdint>
#include <string>

#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::glm {

/// For the registry: relaxation is the only option.
inline SamplerInfo describe_sweeps(const char* name, const char* summary, double usual_relaxation) {
  Option relaxation = NewtonLine::relaxation_option();
  relaxation.type = Option::Type::number;
  relaxation.usual = usual_relaxation;
  return {
      .name = name, .summary = summary, .line = true, .kernel = false, .options = {std::move(relaxation)}};
}

/// Settings with warm-up and thinning in whole sweeps.
inline RunSettings resolve_sweeps(RunSettings s, const char* sampler, std::size_t sweep,
                                  std::size_t usual_warmup, double relaxation, const char* start) {
  const auto sweeps_of = [&](std::size_t steps) { return (steps + sweep - 1) / sweep; };  // rounded up
  s.thin = sweep * std::max<std::size_t>(1, sweeps_of(s.thin.value_or(sweep)));
  s.warmup = sweep * sweeps_of(s.warmup.value_or(usual_warmup * sweep));
  s.sampler = sampler;
  s.metric = MetricKind::none;
  if (!s.sampler_options.contains("relaxation")) s.sampler_options["relaxation"] = relaxation;
  s = onward::resolve(std::move(s), sweep);
  s.start = {.kind = Start::Kind::given, .word = start};
  return s;
}

/// Sweeps until so many steps are made or a pause is asked for. `done` counts updates and those accepted;
/// acceptance adds up in steps.
template <class Done, class Sweep>
std::uint64_t advance_by_sweeps(std::uint64_t steps, std::size_t stride, Monitor& monitor, const Done& done,
                                double& acceptance, const Sweep& sweep) {
  for (std::uint64_t made = stride;; made += stride) {
    const Done before = done;
    sweep();
    const double of_sweep = static_cast<double>(stride) *
                            static_cast<double>(done.accepted - before.accepted) /
                            static_cast<double>(done.updates - before.updates);
    acceptance += of_sweep;
    monitor.count(stride, of_sweep);
    if (made >= steps || monitor.pause.load(std::memory_order_relaxed)) return made;
  }
}

}  // namespace onward::glm
