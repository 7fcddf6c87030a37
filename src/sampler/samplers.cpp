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
                true, 0.25},
    SamplerInfo{
        "mala",
        "Langevin with full gradients: one gradient a step; by forward mode in few dimensions, else reverse",
        false, true, true, 0.65},
    SamplerInfo{"fmala", "Langevin drift along a random direction, noise in all: one slope a step", false,
                false, true, 0.25},
    SamplerInfo{"line-fmala", "Langevin along a random line: two slopes a step", true, false, true, 0.65},
    SamplerInfo{"pc-fmala", "fmala scaled by the curvature on the spot: one curvature a step", false, false,
                true, 0.2},
    SamplerInfo{"pc-line-fmala", "line-fmala scaled by the curvature on the spot: two curvatures a step",
                true, false, true, 0.75},
    SamplerInfo{"newton-line", "the normal that fits the line on the spot, sampled exactly: no step size",
                true, false, false, 0.75},
};

/// Of regressions alone: what auto means there (glm/axis_sampler.hpp).
constexpr SamplerInfo axes{
    "axes", "regressions: newton-line along whitened axes, from near the mode", true, false, false, 0.75};

}  // namespace

std::span<const SamplerInfo> samplers() { return sampler_list; }

bool uses(std::string_view sampler, std::string_view option) {
  if (sampler == axes.name) return option == "relaxation" || option == "sampler";
  const SamplerInfo& info = find_sampler(sampler);
  const bool forward = sampler != "rwm" && sampler != "mala", newton = sampler == "newton-line",
             pc = sampler.starts_with("pc-");
  if (option == "directions" || option == "tangent") return forward;
  if (option == "inner") return info.line;
  if (option == "relaxation") return newton;
  if (option == "curvature_floor") return pc || newton;
  if (option == "as_published") return sampler == "mala";
  if (option == "target_acceptance" || option == "step_size") return info.tuned;
  if (option == "bias_correction") return forward && !newton && sampler != "pc-line-fmala";
  return true;
}

const SamplerInfo& find_sampler(std::string_view name) {
  for (const auto& info : sampler_list)
    if (info.name == name) return info;
  if (name == axes.name) return axes;
  std::vector<std::string> names;
  for (const auto& info : sampler_list) names.emplace_back(info.name);
  throw UsageError(fmt::format("there is no sampler '{}'.{} Samplers: {}, or auto", name,
                               suggestion(name, names), joined(names)));
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
  throw UsageError(fmt::format("`bias_correction` '{}' is not known.{} It is one of: {}", name,
                               suggestion(name, names), joined(names)));
}

std::string_view to_string(Tangent tangent) { return tangent == Tangent::kept ? "kept" : "fresh"; }

Tangent tangent_from_string(std::string_view name) {
  for (auto tangent : {Tangent::kept, Tangent::fresh})
    if (name == to_string(tangent)) return tangent;
  throw UsageError(fmt::format("`tangent` '{}' is not known: it is kept or fresh (as in the paper)", name));
}

std::string_view to_string(Vectors vectors) { return vectors == Vectors::held ? "held" : "regenerated"; }

Vectors vectors_from_string(std::string_view name) {
  for (auto vectors : {Vectors::held, Vectors::regenerated})
    if (name == to_string(vectors)) return vectors;
  throw UsageError(
      fmt::format("`vectors` '{}' is not known: it is held or regenerated (which saves memory)", name));
}

Kernel make_kernel(const KernelSettings& s) {
  if (!(s.step_size > 0) || !std::isfinite(s.step_size))
    throw UsageError(fmt::format(
        "step size {} is not usable: it must be a positive number; leave it out and warm-up finds one",
        s.step_size));
  if (!(s.curvature_floor >= 0) || !std::isfinite(s.curvature_floor))
    throw UsageError(fmt::format("curvature floor {} is not usable: it must be 0 or a positive number",
                                 s.curvature_floor));
  if (!(s.relaxation > 0 && s.relaxation < 2))
    throw UsageError(fmt::format(
        "relaxation {} is not usable: it must lie between 0 and 2 (1: independent places on a normal's line)",
        s.relaxation));
  if (s.inner == 0) throw UsageError("inner 0 makes no sense: give 1 or more moves a line");
  const std::string_view name = find_sampler(s.sampler).name;
  if (name == "rwm") return Rwm{s.step_size, s.vectors};
  if (name == "mala") return Mala{s.step_size, s.as_published};
  if (name == "fmala" && s.tangent == Tangent::kept) return Fmala{s.step_size, s.bias_correction, s.vectors};
  if (name == "fmala") return FreshFmala{s.step_size, s.bias_correction, s.vectors};
  if (name == "line-fmala") return LineFmala{s.step_size, s.bias_correction, s.inner, s.tangent, s.vectors};
  if (name == "pc-fmala" && s.tangent == Tangent::kept)
    return PcFmala{s.step_size, s.bias_correction, s.curvature_floor, s.vectors};
  if (name == "pc-fmala") return FreshPcFmala{s.step_size, s.bias_correction, s.curvature_floor, s.vectors};
  if (name == "newton-line")
    return NewtonLine{s.relaxation, s.curvature_floor, s.inner, s.tangent, s.vectors};
  return PcLineFmala{s.step_size, s.curvature_floor, s.inner, s.tangent, s.vectors};
}

void transfer(Archive& archive, State& state) {
  archive(state.position, state.value, state.gradient, state.tangent, state.tangent_name.step,
          state.tangent_name.purpose, state.support.first, state.support.count, state.jet.value,
          state.jet.slope, state.jet.curvature, state.jet_known, state.lately_accepted, state.watched);
}

DirectionLaw needed_law(const Kernel& kernel) {
  return std::visit([](const auto& k) { return k.needs; }, kernel);
}

StepInfo step(const Kernel& kernel, State& state, AnyTarget& target, const Metric& metric,
              const StepRandom& random, Workspace& workspace) {
  return std::visit([&](const auto& k) { return k.step(state, target, metric, random, workspace); }, kernel);
}

StepInfo step(const Kernel& kernel, State& state, AnyTarget& target, const Metric& metric,
              const Stream& stream, std::uint64_t number, Directions& directions, Workspace& workspace) {
  return std::visit(
      [&]<class K, class Source>(const K& k, Source& source) -> StepInfo {
        if constexpr (Serves<Source, K>)
          return k.step(state, target, metric, SourcedRandom<Source>(stream, number, source), workspace);
        else
          throw UsageError("these directions are not exact for this sampler");
      },
      kernel, directions);
}

}  // namespace onward
