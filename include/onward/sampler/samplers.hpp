#pragma once
// The kernels by name: what there is, what each needs, and one type that holds any of them.

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "onward/direction/directions.hpp"
#include "onward/sampler/fmala.hpp"
#include "onward/sampler/line_fmala.hpp"
#include "onward/sampler/mala.hpp"
#include "onward/sampler/newton_line.hpp"
#include "onward/sampler/pc_fmala.hpp"
#include "onward/sampler/pc_line_fmala.hpp"
#include "onward/sampler/rwm.hpp"

namespace onward {

class AnyTarget;

/// What is worth knowing of a sampler before choosing it.
struct SamplerInfo {
  std::string_view name;
  std::string_view summary;
  bool line;                 ///< one step moves along one direction: D steps make a sweep
  bool needs_gradient;       ///< asks for full gradients, not jets
  bool tuned;                ///< has a step size, which warm-up finds
  double target_acceptance;  ///< what warm-up steers the step size to; docs/decisions/acceptance.md has the
                             ///< figures
};

std::span<const SamplerInfo> samplers();
const SamplerInfo& find_sampler(std::string_view name);  ///< throws UsageError that suggests the nearest name

/// Whether a setting, by its name in run.json, changes anything for a sampler.
bool uses(std::string_view sampler, std::string_view option);

/// A kernel's settings, by name.
struct KernelSettings {
  std::string sampler = "pc-line-fmala";
  double step_size = 1;
  BiasCorrection bias_correction = BiasCorrection::none;
  double curvature_floor = 0.1;  ///< κ of curvature_scale(); 0 is the paper's kernel
  bool as_published = false;     ///< mala: two gradients a step
  Tangent tangent = Tangent::kept;
  Vectors vectors = Vectors::held;  ///< regenerated: of no use to mala
  std::size_t inner = 1;            ///< line kernels: moves along each line
  double relaxation = 1;            ///< newton-line: c, between 0 and 2
};

std::string_view to_string(Vectors vectors);
Vectors vectors_from_string(std::string_view name);

std::string_view to_string(Tangent tangent);
Tangent tangent_from_string(std::string_view name);

std::string_view to_string(BiasCorrection correction);
BiasCorrection bias_correction_from_string(std::string_view name);

/// Any kernel, with fixed settings.
using Kernel =
    std::variant<Rwm, Mala, Fmala, FreshFmala, LineFmala, PcFmala, FreshPcFmala, PcLineFmala, NewtonLine>;
Kernel make_kernel(const KernelSettings& settings);

/// What the kernel asks of its directions.
DirectionLaw needed_law(const Kernel& kernel);

/// One step of any kernel on any target, with independent directions.
StepInfo step(const Kernel& kernel, State& state, AnyTarget& target, const Metric& metric,
              const StepRandom& random, Workspace& workspace);

/// The same with directions from a source, which must serve the kernel (make_directions() sees to it).
StepInfo step(const Kernel& kernel, State& state, AnyTarget& target, const Metric& metric,
              const Stream& stream, std::uint64_t number, Directions& directions, Workspace& workspace);

}  // namespace onward
