#pragma once
// The registry of samplers: what there is, what each needs, and one type that holds any kernel. A kernel is
// added by its header and its place in `Kernel`; everything else is read from how it describes itself
// (description.hpp).

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "onward/direction/directions.hpp"
#include "onward/sampler/description.hpp"
#include "onward/sampler/fmala.hpp"
#include "onward/sampler/line_barker.hpp"
#include "onward/sampler/line_fmala.hpp"
#include "onward/sampler/mala.hpp"
#include "onward/sampler/newton_line.hpp"
#include "onward/sampler/nuts.hpp"
#include "onward/sampler/pc_fmala.hpp"
#include "onward/sampler/pc_line_fmala.hpp"
#include "onward/sampler/rwm.hpp"

namespace onward {

class AnyTarget;

/// Any kernel, with fixed settings. Two that share a name are told apart by the option `tangent`.
using Kernel = std::variant<Rwm, Mala, Fmala, FreshFmala, LineFmala, PcFmala, FreshPcFmala, PcLineFmala,
                            NewtonLine, LineBarker, Nuts>;

/// What there is to know of a sampler: what its kernel says of itself, as data.
struct SamplerInfo {
  std::string name, summary;
  bool line = false;            ///< one step moves along one direction: D steps make a sweep
  bool needs_gradient = false;  ///< asks for full gradients, not jets
  bool piloted = false;         ///< the sampler auto may take it
  /// A step is a whole trajectory; its acceptance is a mean along it.
  bool follows_trajectories = false;
  bool tuned = false;        ///< has a step size, which warm-up finds
  bool directed = false;     ///< takes directions from a source
  bool regenerates = false;  ///< can do without vectors in memory (Vectors::regenerated)
  /// A kernel on a target. Otherwise a model's own sampler, which finds its starts and coordinates by itself.
  bool kernel = true;
  Order order = Order::curvature;  ///< of its jets
  double target_acceptance = 0.75;
  std::size_t held_vectors = 2;  ///< see KernelFacts
  std::vector<Option> options = {};

  bool has_option(std::string_view option) const;
};

/// The kernels, which sample any model.
std::span<const SamplerInfo> samplers();
/// The kernels, then the samplers that only some models have.
std::span<const SamplerInfo> all_samplers();
/// Throws UsageError that suggests the nearest name.
const SamplerInfo& find_sampler(std::string_view name);
/// The options of all samplers, each name once, in the order in which they first appear.
std::vector<Option> sampler_options();
/// Names of the samplers that have an option.
std::vector<std::string> samplers_with(std::string_view option);

/// In place of a sampler's name: short pilots choose (run/choice.hpp).
inline constexpr std::string_view choose_sampler_word = "auto";
/// What is taken where no pilots can choose.
inline constexpr std::string_view usual_sampler = PcLineFmala::facts.name;

/// A kernel's settings, by name.
struct KernelSettings {
  std::string sampler = std::string(usual_sampler);
  double step_size = 1;
  Vectors vectors = Vectors::held;
  /// By name, as the kernel describes them; those that other samplers have are passed over.
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
};

/// The options that a sampler has, as they were given or as they usually are. Options that only other
/// samplers have are left out. Throws UsageError for names that no sampler knows, with the nearest, and for
/// values that cannot be.
nlohmann::ordered_json settle_options(const SamplerInfo& sampler, const nlohmann::ordered_json& given);

/// Throws UsageError for a sampler that is no kernel, for options and for step sizes that cannot be.
Kernel make_kernel(const KernelSettings& settings);

/// 1 for a kernel that has none.
double step_size(const Kernel& kernel);
/// Nothing happens to a kernel that has none.
void set_step_size(Kernel& kernel, double step_size);
/// For trials of a step size: trajectories of one leapfrog. Other kernels stay as they are.
Kernel with_short_steps(Kernel kernel);
/// How often trajectories may double; 0 for a kernel that follows none, which cannot be set either.
std::size_t max_depth(const Kernel& kernel);
void set_max_depth(Kernel& kernel, std::size_t depth);
/// Moves that one step makes.
std::size_t moves_per_step(const Kernel& kernel);
/// What the kernel asks of its directions.
DirectionLaw needed_law(const Kernel& kernel);

/// One step of any kernel on any target, with independent directions.
StepInfo step(const Kernel& kernel, State& state, AnyTarget& target, const Metric& metric,
              const StepRandom& random, Workspace& workspace);

/// The same with directions from a source, which must serve the kernel (make_directions() sees to it).
StepInfo step(const Kernel& kernel, State& state, AnyTarget& target, const Metric& metric,
              const Stream& stream, std::uint64_t number, Directions& directions, Workspace& workspace);

}  // namespace onward
