#include "onward/sampler/samplers.hpp"

#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/target/target.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

constexpr std::array sampler_list{
    SamplerInfo{"rwm", "random-walk Metropolis: one value a step, no derivatives; the baseline", false, false,
                0.25},
    SamplerInfo{"mala", "Langevin with full gradients: one gradient a step; needs reverse mode", false, true,
                0.65},
    SamplerInfo{"fmala", "Langevin drift along a random direction, noise in all: two slopes a step", false,
                false, 0.25},
    SamplerInfo{"line-fmala", "Langevin along a random line: two slopes a step", true, false, 0.65},
    SamplerInfo{"pc-fmala", "fmala scaled by the curvature on the spot: two curvatures a step", false, false,
                0.2},
    SamplerInfo{"pc-line-fmala", "line-fmala scaled by the curvature on the spot: two curvatures a step",
                true, false, 0.75},
};

}  // namespace

std::span<const SamplerInfo> samplers() { return sampler_list; }

const SamplerInfo& find_sampler(std::string_view name) {
  for (const auto& info : sampler_list)
    if (info.name == name) return info;
  std::vector<std::string> names;
  for (const auto& info : sampler_list) names.emplace_back(info.name);
  throw UsageError(
      fmt::format("there is no sampler '{}'.{} Samplers: {}", name, suggestion(name, names), joined(names)));
}

std::string_view to_string(BiasCorrection correction) {
  switch (correction) {
    case BiasCorrection::none:
      return "none";
    case BiasCorrection::coupled:
      return "coupled";
    case BiasCorrection::drift:
      return "drift";
  }
  return "none";
}

BiasCorrection bias_correction_from_string(std::string_view name) {
  for (auto correction : {BiasCorrection::none, BiasCorrection::coupled, BiasCorrection::drift})
    if (name == to_string(correction)) return correction;
  const std::vector<std::string> names{"none", "coupled", "drift"};
  throw UsageError(fmt::format("--bias-correction '{}' is not known.{} It is one of: {}", name,
                               suggestion(name, names), joined(names)));
}

Kernel make_kernel(const KernelSettings& s) {
  if (!(s.step_size > 0) || !std::isfinite(s.step_size))
    throw UsageError(fmt::format(
        "step size {} is not usable: it must be a positive number; leave it out and warm-up finds one",
        s.step_size));
  if (!(s.curvature_floor >= 0) || !std::isfinite(s.curvature_floor))
    throw UsageError(fmt::format("curvature floor {} is not usable: it must be 0 or a positive number",
                                 s.curvature_floor));
  const std::string_view name = find_sampler(s.sampler).name;
  if (name == "rwm") return Rwm{s.step_size};
  if (name == "mala") return Mala{s.step_size, s.as_published};
  if (name == "fmala") return Fmala{s.step_size, s.bias_correction};
  if (name == "line-fmala") return LineFmala{s.step_size, s.bias_correction};
  if (name == "pc-fmala") return PcFmala{s.step_size, s.bias_correction, s.curvature_floor};
  return PcLineFmala{s.step_size, s.curvature_floor};
}

StepInfo step(const Kernel& kernel, State& state, AnyTarget& target, const Metric& metric,
              const StepRandom& random, Workspace& workspace) {
  return std::visit([&](const auto& k) { return k.step(state, target, metric, random, workspace); }, kernel);
}

}  // namespace onward
