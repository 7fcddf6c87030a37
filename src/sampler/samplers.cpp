#include "onward/sampler/samplers.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/glm/group_sampler.hpp"
#include "onward/target/target.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

using nlohmann::ordered_json;

/// Calls use.operator()<K>() for each kernel.
template <class Use>
void for_each_kernel(const Use& use) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (use.template operator()<std::variant_alternative_t<I, Kernel>>(), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Kernel>>{});
}

template <class K>
constexpr bool has_step_size = requires(K kernel) {
  kernel.step_size;
};
template <class K>
constexpr bool has_vectors = requires(K kernel) {
  kernel.vectors;
};
template <class K>
constexpr bool has_inner = requires(K kernel) {
  kernel.inner;
};
/// Whether the type itself has its kind of tangent, as one of two kernels of one name.
template <class K>
constexpr bool has_tangent_kind = requires {
  K::tangent_kind;
};

template <class K>
std::vector<Option> options_of() {
  std::vector<Option> options;
  std::apply([&](const auto&... member) { (options.push_back(member.option), ...); }, K::options());
  if constexpr (has_tangent_kind<K>) {
    options.push_back(
        word_option<Tangent>({.name = "tangent", .help = shared_options::tangent_help, .usual = "kept"}));
  }
  return options;
}

template <class K>
SamplerInfo info_of() {
  return {.name = std::string(K::facts.name),
          .summary = std::string(K::facts.summary),
          .line = K::facts.line,
          .needs_gradient = K::facts.needs_gradient,
          .piloted = K::facts.piloted,
          .follows_trajectories = K::facts.follows_trajectories,
          .tuned = has_step_size<K>,
          .directed = K::needs != DirectionLaw::none,
          .regenerates = has_vectors<K>,
          .order = K::order,
          .target_acceptance = K::facts.target_acceptance,
          .held_vectors = K::facts.held_vectors,
          .options = options_of<K>()};
}

const std::vector<SamplerInfo>& registry() {
  static const std::vector<SamplerInfo> all = [] {
    std::vector<SamplerInfo> list;
    for_each_kernel([&]<class K>() {
      if (std::ranges::find(list, K::facts.name, &SamplerInfo::name) == list.end())
        list.push_back(info_of<K>());
    });
    list.push_back(glm::AxisChainMaker::describe());
    list.push_back(glm::GroupChainMaker::describe());
    return list;
  }();
  return all;
}

template <class K>
K kernel_of(const KernelSettings& s, const ordered_json& options) {
  K kernel;
  if constexpr (has_step_size<K>) kernel.step_size = s.step_size;
  if constexpr (has_vectors<K>) kernel.vectors = s.vectors;
  std::apply([&](const auto&... member) { (member.set(kernel, options.at(member.option.name)), ...); },
             K::options());
  return kernel;
}

}  // namespace

bool SamplerInfo::has_option(std::string_view option) const {
  return std::ranges::find(options, option, &Option::name) != options.end();
}

std::span<const SamplerInfo> all_samplers() { return registry(); }

std::span<const SamplerInfo> samplers() {
  const auto first_own = std::ranges::find(registry(), false, &SamplerInfo::kernel);
  return std::span(registry()).first(static_cast<std::size_t>(first_own - registry().begin()));
}

const SamplerInfo& find_sampler(std::string_view name) {
  const auto found = std::ranges::find(registry(), name, &SamplerInfo::name);
  if (found != registry().end()) return *found;
  std::vector<std::string> names;
  for (const auto& info : registry())
    if (info.kernel) names.push_back(info.name);
  throw UsageError(fmt::format("there is no sampler '{}'.{} Samplers: {}, or auto", name,
                               suggestion(name, names), joined(names)));
}

std::vector<Option> sampler_options() {
  std::vector<Option> all;
  for (const auto& info : registry())
    for (const auto& option : info.options)
      if (std::ranges::find(all, option.name, &Option::name) == all.end()) all.push_back(option);
  return all;
}

std::vector<std::string> samplers_with(std::string_view option) {
  std::vector<std::string> names;
  for (const auto& info : registry())
    if (info.has_option(option)) names.push_back(info.name);
  return names;
}

ordered_json settle_options(const SamplerInfo& sampler, const ordered_json& given) {
  // All that are known somewhere are checked; a sampler's own description is the one that counts for it.
  std::vector<Option> known = sampler.options;
  for (auto& option : sampler_options())
    if (!sampler.has_option(option.name)) known.push_back(std::move(option));
  const OptionValues values("the sampler " + sampler.name, known, given);
  ordered_json settled = ordered_json::object();
  for (const auto& option : sampler.options)
    settled[option.name] = values.has(option.name) ? values.json().at(option.name) : option.usual;
  return settled;
}

Kernel make_kernel(const KernelSettings& s) {
  if (!(s.step_size > 0) || !std::isfinite(s.step_size))
    throw UsageError(fmt::format(
        "step size {} is not usable: it must be a positive number; leave it out and warm-up finds one",
        s.step_size));
  const ordered_json options = settle_options(find_sampler(s.sampler), s.options);
  std::optional<Kernel> kernel;
  for_each_kernel([&]<class K>() {
    if (K::facts.name != s.sampler) return;
    if constexpr (has_tangent_kind<K>)
      if (options.at("tangent") != to_string(K::tangent_kind)) return;
    kernel = kernel_of<K>(s, options);
  });
  if (!kernel) throw UsageError(fmt::format("the sampler {} belongs to models that have it", s.sampler));
  return *kernel;
}

double step_size(const Kernel& kernel) {
  return std::visit(
      []<class K>(const K& k) {
        if constexpr (has_step_size<K>)
          return k.step_size;
        else
          return 1.0;
      },
      kernel);
}

void set_step_size(Kernel& kernel, double step_size) {
  std::visit(
      [&]<class K>(K& k) {
        if constexpr (has_step_size<K>) k.step_size = step_size;
      },
      kernel);
}

std::size_t max_depth(const Kernel& kernel) {
  const auto* nuts = std::get_if<Nuts>(&kernel);
  return nuts == nullptr ? 0 : nuts->max_depth;
}

void set_max_depth(Kernel& kernel, std::size_t depth) {
  if (auto* nuts = std::get_if<Nuts>(&kernel)) nuts->max_depth = depth;
}

Kernel with_short_steps(Kernel kernel) {
  if (auto* nuts = std::get_if<Nuts>(&kernel)) {
    nuts->max_depth = 1;
    nuts->max_halvings = 0;
  }
  return kernel;
}

std::size_t moves_per_step(const Kernel& kernel) {
  return std::visit(
      []<class K>(const K& k) -> std::size_t {
        if constexpr (has_inner<K>)
          return k.inner;
        else
          return 1;
      },
      kernel);
}

void transfer(Archive& archive, State& state) {
  archive(state.position, state.value, state.gradient, state.tangent, state.tangent_name.step,
          state.tangent_name.purpose, state.support.first, state.support.count, state.jet.value,
          state.jet.slope, state.jet.curvature, state.jet_known, state.lately_accepted, state.lately_steps);
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
