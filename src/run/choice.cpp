#include "onward/run/choice.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "onward/diagnostics/convergence.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/price.hpp"

namespace onward {
namespace {

// A pilot is as long as so many sweeps of newton-line, in evaluations, or so many of its steps if that is
// more: in few dimensions a sweep says little.
constexpr std::size_t warmup_sweeps = 150, kept_sweeps = 100, least_steps = 2500, pilot_chains = 2;
constexpr std::size_t pilot_draws = 500;
// Pilots of which none makes so many effective draws say little, and are run again at twice the length while
// a candidate's would take no more than so many evaluations, and all together no more than this share of what
// the run is expected to take.
constexpr double telling_ess = 100, most_evaluations = 2e6, most_share = 0.15;
// Draws are thinned towards this much ESS each, but not beyond so many sweeps.
constexpr double wanted_ess_per_draw = 0.5;
constexpr std::size_t most_sweeps_per_draw = 400;
// By whose sweeps lengths are measured, and what is taken if there is no time for pilots.
constexpr std::string_view reference = NewtonLine::facts.name;

double price_per_step(const SamplerInfo& sampler, std::size_t dimension) {
  const EvaluationPrice price = EvaluationPrice::of_dimension(dimension);
  if (sampler.needs_gradient) return price.gradient;
  const double single = sampler.order == Order::value   ? price.value
                        : sampler.order == Order::slope ? price.slope
                                                        : price.curvature;
  if (!sampler.line) return single;
  // A line kernel that accepts four times in five.
  return (sampler.order == Order::slope ? price.slope_pair : price.curvature_pair) + 0.2 * single;
}

/// Steps that cost as much as so many sweeps of newton-line.
std::size_t steps_for(const std::string& sampler, std::size_t dimension, std::size_t sweeps) {
  const double evaluations =
      static_cast<double>(sweeps * dimension) * price_per_step(find_sampler(reference), dimension);
  return static_cast<std::size_t>(std::ceil(evaluations / price_per_step(find_sampler(sampler), dimension)));
}

/// A seed of its own for each candidate, so that pilots share no random numbers with the run.
std::uint64_t pilot_seed(std::uint64_t seed, std::size_t candidate) {
  return Stream(seed, 0xffffffffU).block(0, Purpose::shuffle, static_cast<std::uint32_t>(candidate))[0];
}

/// One candidate, `length` times as long as the shortest pilot; nothing if there was no time for it.
std::optional<Pilot> run_pilot(const AnyTarget& target, RunSettings settings, std::size_t length,
                               const Hooks& hooks) {
  const std::size_t dimension = target.dimension(), least_sweeps = least_steps / dimension;
  settings.chains = pilot_chains;
  settings.target_acceptance = {};
  settings.until_ess = {};  // pilots of one length are compared
  settings.warmup = length * steps_for(settings.sampler, dimension, std::max(warmup_sweeps, least_sweeps));
  settings.draws = pilot_draws;
  settings.thin = std::max<std::size_t>(
      1, length * steps_for(settings.sampler, dimension, std::max(kept_sweeps, least_sweeps)) / pilot_draws);
  if (settings.sampler != reference) settings.directions = "auto";
  const Run run = sample(target, settings, hooks);
  if (run.ending != Ending::complete) return std::nullopt;
  Pilot result{settings.sampler, run.least_ess(), 0, pilot_chains * pilot_draws * *settings.thin};
  // Warm-up costs the same share for all, so that the kept part's evaluations are in proportion.
  const double kept =
      static_cast<double>(result.steps) / static_cast<double>(result.steps + pilot_chains * *settings.warmup);
  result.evaluations = kept * EvaluationPrice::of_dimension(dimension).of(run.counts());
  return result;
}

/// Trajectories need a gradient, and take no directions, nor options that only other samplers have.
bool fits_trajectories(const AnyTarget& target, const RunSettings& requested) {
  const SamplerInfo& nuts = find_sampler(Nuts::facts.name);
  const auto known = [&](const auto& option) { return nuts.has_option(option.key()); };
  return target.has_gradient() && requested.directions == "auto" &&
         std::ranges::all_of(requested.sampler_options.items(), known);
}

/// What the pilots say: the best of them, and how far apart its draws should be.
void settle(Choice& choice, std::size_t dimension) {
  std::stable_sort(choice.pilots.begin(), choice.pilots.end(),
                   [](const Pilot& a, const Pilot& b) { return a.score() > b.score(); });
  const Pilot& best = choice.pilots.front();
  choice.sampler = best.sampler;
  const double steps_per_ess = static_cast<double>(best.steps) / std::max(best.min_ess, 1e-9);
  const auto most = static_cast<double>(steps_for(best.sampler, dimension, most_sweeps_per_draw));
  const std::size_t sweep = sweep_steps(best.sampler, dimension);
  const double thin = std::min(wanted_ess_per_draw * steps_per_ess, most);
  choice.warmup = steps_for(best.sampler, dimension, 1000);
  choice.thin = sweep * std::max<std::size_t>(
                            1, static_cast<std::size_t>(std::ceil(thin / static_cast<double>(sweep))));
}

/// Evaluations that the chosen run is expected to take.
double evaluations_of_run(const Choice& choice, const RunSettings& requested, std::size_t dimension) {
  const double steps = static_cast<double>(choice.warmup) +
                       static_cast<double>(requested.draws) * static_cast<double>(choice.thin);
  return static_cast<double>(requested.chains) * steps *
         price_per_step(find_sampler(choice.sampler), dimension);
}

}  // namespace

Choice choose_sampler(const AnyTarget& target, const RunSettings& requested, const Hooks& hooks) {
  const std::size_t dimension = target.dimension();
  if (fits_trajectories(target, requested))
    return {std::string(Nuts::facts.name), 1, usual_warmup(Nuts::facts.name, dimension), {}};
  std::vector<std::string> candidates{std::string(reference)};
  for (const auto& sampler : samplers())
    if (sampler.piloted && sampler.name != reference && !sampler.needs_gradient)
      candidates.push_back(sampler.name);

  Choice choice{std::string(reference), dimension, 1000 * dimension, {}};
  const auto begin = std::chrono::steady_clock::now();
  Hooks quiet;
  quiet.stop = hooks.stop;
  quiet.progress = hooks.progress;
  double spent = 0;
  for (std::size_t length = 1;; length *= 2) {
    std::vector<Pilot> pilots;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      RunSettings settings = requested;
      settings.sampler = candidates[c];
      settings.seed = pilot_seed(*requested.seed, c);
      settings.max_seconds = requested.max_seconds / 4;
      quiet.seconds_used = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const auto pilot = run_pilot(target, settings, length, quiet);
      if (!pilot) break;
      pilots.push_back(*pilot);
    }
    if (pilots.size() < candidates.size()) break;
    choice.pilots = pilots;
    settle(choice, dimension);
    double round = 0;  // warm-up included, which is a little longer than what is kept
    for (const auto& pilot : pilots)
      round += pilot.evaluations * static_cast<double>(warmup_sweeps + kept_sweeps) /
               static_cast<double>(kept_sweeps);
    spent += round;
    const auto told = [](const Pilot& pilot) { return pilot.min_ess >= telling_ess; };
    const auto dear = [](const Pilot& pilot) { return 2 * pilot.evaluations > most_evaluations; };
    if (std::ranges::any_of(pilots, told) || std::ranges::any_of(pilots, dear) ||
        spent + 2 * round > most_share * evaluations_of_run(choice, requested, dimension))
      break;
  }
  return choice;
}

RunSettings with_choice(RunSettings settings, const Choice& choice) {
  settings.sampler = choice.sampler;
  if (!settings.thin) settings.thin = choice.thin;
  if (!settings.warmup) settings.warmup = choice.warmup;
  return settings;
}

std::string describe(const Choice& choice) {
  if (find_sampler(choice.sampler).follows_trajectories)
    return fmt::format("{}: the model has a gradient", choice.sampler);
  if (choice.pilots.empty()) return fmt::format("{}: no time for pilots of others", choice.sampler);
  std::string text;
  for (const auto& pilot : choice.pilots)
    text += fmt::format("{}{} {:.3g}", text.empty() ? "" : ", ", pilot.sampler, 1000 * pilot.score());
  return fmt::format("{} (effective draws per 1000 evaluations in short pilots: {})", choice.sampler, text);
}

}  // namespace onward
