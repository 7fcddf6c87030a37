#include "onward/run/settings.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/warmup/warmup.hpp"

namespace onward {
namespace {

void require_positive(const char* what, std::size_t value) {
  if (value == 0) throw UsageError(fmt::format("{} 0 makes no sense: give 1 or more", what));
}

void require_positive_number(const char* what, double value, const char* remedy) {
  if (!(value > 0) || !std::isfinite(value))
    throw UsageError(fmt::format("{} {} is not usable: it must be a positive number{}", what, value, remedy));
}

std::string named_options(const SamplerInfo& sampler) {
  std::vector<std::string> names;
  for (const auto& option : sampler.options) names.push_back(option.name);
  return fmt::format("`{}`", fmt::join(names, "`, `"));
}

/// What goes with vectors that are read from their stream again and again.
void settle_regenerated(RunSettings& s) {
  if (!find_sampler(s.sampler).regenerates)
    throw UsageError(fmt::format(
        "`vectors` regenerated is not for {}, which holds a gradient: use a forward sampler", s.sampler));
  if (s.directions == "auto") s.directions = "sphere";
  if (s.directions != "sphere")
    throw UsageError(fmt::format(
        "`vectors` regenerated reads directions on the sphere from their stream, not {}: leave `directions` "
        "out",
        s.directions));
  if (!s.metric) s.metric = MetricKind::none;
  if (*s.metric != MetricKind::none)
    throw UsageError(
        fmt::format("`vectors` regenerated goes without a metric, not with {}: leave `metric` out",
                    to_string(*s.metric)));
}

}  // namespace

void check_choosable(const RunSettings& s) {
  if (s.chooses_sampler() && s.vectors == Vectors::regenerated)
    throw UsageError(
        "`vectors` regenerated needs a sampler by its name, such as `sampler` pc-line-fmala: the pilots of "
        "auto hold vectors");
}

bool RunSettings::chooses_sampler() const { return sampler == choose_sampler_word && !step_size; }

std::size_t sweep_steps(const std::string& sampler, std::size_t dimension) {
  return find_sampler(sampler).line ? dimension : 1;
}

std::size_t usual_warmup(std::string_view sampler, std::size_t dimension) {
  return find_sampler(sampler).line ? 1000 * dimension : 1000;
}

RunSettings with_seed(RunSettings s) {
  if (!s.seed) {
    std::random_device device;
    s.seed = device() & 0x7fffffffU;  // short enough to be typed again
  }
  return s;
}

MetricKind default_metric(std::size_t dimension) {
  if (dimension <= 100) return MetricKind::dense;
  return MetricKind::lowrank;
}

KernelSettings kernel_settings(const RunSettings& s) {
  return {.sampler = s.sampler,
          .step_size = s.step_size.value_or(1.0),
          .vectors = s.vectors,
          .options = s.sampler_options};
}

RunSettings resolve(RunSettings s, std::size_t dimension) {
  require_positive("dimension", dimension);
  if (s.sampler == choose_sampler_word && s.step_size) s.sampler = usual_sampler;
  const SamplerInfo& sampler = find_sampler(s.sampler);
  s.sampler_options = settle_options(sampler, s.sampler_options);
  if (s.step_size && !sampler.tuned)
    throw UsageError(fmt::format("sampler {} has no step size, but {} was given: leave it out; it has {}",
                                 s.sampler, *s.step_size, named_options(sampler)));
  require_positive("chains", s.chains);
  require_positive("draws", s.draws);
  if (s.thin) require_positive("thin", *s.thin);
  if (s.step_size) require_positive_number("step size", *s.step_size, "; leave it out and warm-up finds one");
  require_positive_number("temperature", s.temperature, " (1 samples the density itself)");
  if (!(s.max_seconds >= 0))
    throw UsageError(
        fmt::format("max seconds {} is not usable: it must be a positive number", s.max_seconds));
  if (s.target_acceptance && !(*s.target_acceptance > 0 && *s.target_acceptance < 1))
    throw UsageError(
        fmt::format("target acceptance {} is not usable: it must lie between 0 and 1", *s.target_acceptance));
  if (s.start.kind == Start::Kind::random && !(s.start.scale >= 0 && std::isfinite(s.start.scale)))
    throw UsageError(
        fmt::format("start scale {} is not usable: it must be 0 or a positive number", s.start.scale));
  if (s.start.kind == Start::Kind::given) {
    if (s.start.position.size() != dimension)
      throw UsageError(fmt::format("the start has {} entries, but the model has {} parameters to sample",
                                   s.start.position.size(), dimension));
    if (!s.start.spread.empty() && s.start.spread.size() != dimension)
      throw UsageError(
          fmt::format("the start's spread has {} entries, but the model has {} parameters to sample",
                      s.start.spread.size(), dimension));
    for (std::size_t i = 0; i < dimension; ++i)
      if (!std::isfinite(s.start.position[i]))
        throw UsageError(fmt::format("entry {} of the start is {}: every entry must be a number", i + 1,
                                     s.start.position[i]));
  }

  if (s.until_ess) require_positive_number("until ess", *s.until_ess, "");
  require_positive("min draws", s.min_draws);

  const std::size_t sweep = sweep_steps(s.sampler, dimension);
  if (!s.thin) s.thin = sweep;
  if (!s.warmup) s.warmup = usual_warmup(s.sampler, dimension);
  // Step numbers share a 48-bit counter with the step-size search.
  const double steps =
      static_cast<double>(*s.warmup) + static_cast<double>(s.draws) * static_cast<double>(*s.thin);
  if (steps > std::ldexp(1.0, 45))
    throw UsageError(fmt::format(
        "{:.3g} steps a chain are more than a run can count: fewer draws or less thinning", steps));
  if (s.vectors == Vectors::regenerated) settle_regenerated(s);
  if (sampler.kernel)
    s.directions = resolve_directions(s.directions, needed_law(make_kernel(kernel_settings(s))));
  if (!s.metric) s.metric = s.step_size ? MetricKind::none : default_metric(dimension);
  if (*s.metric == MetricKind::dense) check_dense_metric(dimension, s.chains);
  if (!s.target_acceptance) s.target_acceptance = sampler.target_acceptance;
  s = with_seed(std::move(s));
  if (s.threads == 0) s.threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return s;
}

}  // namespace onward
