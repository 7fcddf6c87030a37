#include "posterior_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "onward/diagnostics/convergence.hpp"

namespace onward::bench {
namespace {

constexpr std::size_t chains_per_run = 4;
constexpr std::size_t chains_per_pilot = 8;

/// What some chains gave together.
struct Outcome {
  std::vector<double> ess;  ///< of each parameter that was asked for
  double evaluations = 0, steps = 0, acceptance = 0;
  double mean_error = 0, variance_error = 0;
};

/// The draws of several chains, as one Run has them.
void add_figures(const Problem& problem, const std::vector<ChainRecord>& chains, std::size_t most_parameters,
                 Outcome& outcome) {
  const Quantities& quantities = problem.posterior->quantities;
  const std::size_t size = quantities.mean.size();
  for (const auto& chain : chains) {
    outcome.evaluations += problem.price.of(chain.counts);
    outcome.steps += static_cast<double>(chain.sampling_steps);
    outcome.acceptance += chain.acceptance / static_cast<double>(chains.size());
  }
  // Of very many parameters every so-manieth, for pilots.
  const std::size_t stride = (size + most_parameters - 1) / most_parameters;
  Chains draws(chains.size());
  for (std::size_t i = 0; i < size; i += stride) {
    for (std::size_t c = 0; c < chains.size(); ++c) {
      draws[c].resize(chains[c].draws);
      for (std::size_t n = 0; n < chains[c].draws; ++n) draws[c][n] = chains[c].values[n * size + i];
    }
    outcome.ess.push_back(ess_bulk(draws));
  }

  std::vector<double> q(size), first(size), second(size);
  double count = 0;
  for (const auto& chain : chains)
    for (std::size_t n = 0; n < chain.draws; ++n) {
      quantities.from({&chain.values[n * size], size}, q);
      for (std::size_t i = 0; i < size; ++i) {
        const double z = q[i] - quantities.mean[i];
        first[i] += z;
        second[i] += z * z;
      }
      ++count;
    }
  for (std::size_t i = 0; i < size; ++i) {
    const double shift = first[i] / count, variance = second[i] / count - shift * shift;
    outcome.mean_error = std::max(outcome.mean_error, std::abs(shift) / std::sqrt(quantities.variance[i]));
    outcome.variance_error =
        std::max(outcome.variance_error, std::abs(variance / quantities.variance[i] - 1));
  }
}

void apply(const Setting& setting, RunSettings& s) {
  s.sampler = setting.sampler->name;
  s.directions = setting.directions;
  s.sampler_options["tangent"] = to_string(setting.tangent);
  if (setting.sampler->tuned)
    s.step_size = setting.value;
  else
    s.sampler_options["relaxation"] = setting.value;
}

/// Draws to keep of so many steps, so that nearly nothing is lost: a state changes little in a fraction of a
/// sweep, or of the steps that other kernels need for one.
std::size_t thin_for(const SamplerInfo& sampler, std::size_t dimension, std::size_t steps) {
  const std::size_t most_draws = dimension <= 2 ? 10'000 : 4000;
  const std::size_t unit = sampler.needs_gradient ? 1 : std::max<std::size_t>(1, dimension / 8);
  return std::max(unit, steps / most_draws);
}

/// Chains from independent draws, on the whitened target, one after the other.
Outcome run_chains(const Problem& problem, const Setting& setting, double budget, double price_per_step,
                   std::size_t chains, std::uint64_t seed, std::size_t most_parameters,
                   const std::atomic<bool>& stop) {
  const auto steps = std::max<std::size_t>(
      20, static_cast<std::size_t>(budget / static_cast<double>(chains) / price_per_step));
  RunSettings s = whitened_run(setting, {});
  s.thin = thin_for(*setting.sampler, problem.whitened.dimension(), steps);
  s.draws = std::max<std::size_t>(4, steps / *s.thin);
  Hooks hooks;
  hooks.stop = &stop;
  std::vector<ChainRecord> records;
  for (std::size_t c = 0; c < chains; ++c) {
    s.seed = 1000 * seed + c;
    s.start.position = problem.starts[(seed * chains + c) % problem.starts.size()];
    records.push_back(std::move(sample(problem.whitened, s, hooks).chains.front()));
  }
  Outcome outcome;
  if (!stop) add_figures(problem, records, most_parameters, outcome);
  return outcome;
}

double least(const std::vector<double>& x) { return *std::min_element(x.begin(), x.end()); }

/// What a pilot is judged by: the mean over the lowest tenth of the parameters, less noisy than the least.
double low_ess(std::vector<double> ess) {
  std::sort(ess.begin(), ess.end());
  const auto count = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(ess.size() / 10));
  return std::accumulate(ess.begin(), ess.begin() + count, 0.0) / static_cast<double>(count);
}

double median(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

/// Evaluations that a step costs, from a short run.
double probe_price(const Problem& problem, const Setting& setting, const std::atomic<bool>& stop) {
  const Outcome o = run_chains(problem, setting, 500, 1, 1, 1, 1, stop);
  return stop ? 1 : o.evaluations / o.steps;
}

constexpr std::size_t most_pilot_parameters = 100;

SamplerFigures figures_of(const Setting& setting, const std::vector<Outcome>& outcomes) {
  SamplerFigures f;
  f.sampler = setting.sampler->name;
  f.setting = setting.value;
  const auto runs = static_cast<double>(outcomes.size());
  std::vector<double> ess(outcomes.front().ess.size()), mean_errors, variance_errors;
  for (const auto& o : outcomes) {
    for (std::size_t i = 0; i < ess.size(); ++i) ess[i] += o.ess[i] / runs;
    f.evaluations += o.evaluations / runs;
    f.steps += o.steps / runs;
    f.acceptance += o.acceptance / runs;
    mean_errors.push_back(o.mean_error);
    variance_errors.push_back(o.variance_error);
    f.within += o.mean_error <= 0.05 && o.variance_error <= 0.05 ? 1 / runs : 0;
  }
  f.ess = least(ess);
  f.mean_error = median(mean_errors);
  f.variance_error = median(variance_errors);
  return f;
}

}  // namespace

RunSettings whitened_run(const Setting& setting, std::vector<double> start) {
  RunSettings s;
  apply(setting, s);
  s.metric = MetricKind::none;
  s.warmup = 0;
  s.chains = 1;
  s.start = {Start::Kind::given, 1, std::move(start)};
  return s;
}

// A coarse grid, then a fine one around its best point.
Setting tune(const Problem& problem, const Setting& like, const Effort& effort,
             const std::atomic<bool>& stop) {
  const auto at = [&](double value) {
    Setting setting = like;
    setting.value = value;
    return setting;
  };
  const auto best_of = [&](const std::vector<double>& grid, double share) {
    const double price = probe_price(problem, at(grid[grid.size() / 2]), stop);
    std::vector<double> scores(grid.size());
    parallel_for(grid.size(), [&](std::size_t k) {
      const Outcome o = run_chains(problem, at(grid[k]), share * effort.budget, price, chains_per_pilot, 101,
                                   most_pilot_parameters, stop);
      scores[k] = stop ? 0 : low_ess(o.ess) / o.evaluations;
    });
    return grid[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())];
  };
  if (!like.sampler->tuned) return at(best_of({0.5, 0.75, 1, 1.25, 1.5, 1.75}, effort.refine));
  std::vector<double> coarse, fine;
  for (double x = 1.0 / 32; x <= 4; x *= 2) coarse.push_back(x);
  const double around = best_of(coarse, effort.pilot);
  for (const double factor : {0.6, 0.77, 1.0, 1.3, 1.67}) fine.push_back(around * factor);
  return at(best_of(fine, effort.refine));
}

std::optional<SamplerFigures> measure(const Problem& problem, const Setting& setting, const Effort& effort,
                                      const std::atomic<bool>& stop) {
  const double price = probe_price(problem, setting, stop);
  std::vector<Outcome> outcomes(effort.runs);
  parallel_for(effort.runs, [&](std::size_t run) {
    outcomes[run] = run_chains(problem, setting, effort.budget, price, chains_per_run, run + 1,
                               problem.whitened.dimension(), stop);
  });
  if (stop) return std::nullopt;
  return figures_of(setting, outcomes);
}

std::optional<SamplerFigures> measure_untuned(const Problem& problem, const SamplerInfo& sampler,
                                              const Effort& effort, const std::atomic<bool>& stop) {
  const AnyTarget& target = problem.posterior->target;
  const double price = probe_price(problem, {&sampler, 1}, stop);
  const auto steps = static_cast<std::size_t>(effort.budget / 2 / chains_per_run / price);
  RunSettings s;
  s.sampler = sampler.name;
  s.chains = chains_per_run;
  s.threads = 1;
  s.warmup = steps;
  s.thin = thin_for(sampler, target.dimension(), steps);
  s.draws = std::max<std::size_t>(4, steps / *s.thin);
  Hooks hooks;
  hooks.stop = &stop;
  std::vector<Outcome> outcomes((effort.runs + 1) / 2);
  parallel_for(outcomes.size(), [&](std::size_t run) {
    RunSettings seeded = s;
    seeded.seed = 5000 + run;
    const Run result = sample(target, seeded, hooks);
    if (!stop) add_figures(problem, result.chains, target.dimension(), outcomes[run]);
    outcomes[run].evaluations /= 2;  // counts hold the warm-up's too
  });
  if (stop) return std::nullopt;
  return figures_of({&sampler, sampler.tuned ? 0.0 : 1.0}, outcomes);
}

std::vector<double> measure_speed(const Problem& problem, const std::vector<Setting>& settings, bool quick,
                                  const std::atomic<bool>& stop) {
  const std::size_t dimension = problem.whitened.dimension();
  const int rounds = quick ? 1 : 3;
  constexpr double round_seconds = 0.05;
  constexpr std::size_t thin = 10, least_draws = 4, most_draws = 10'000'000;
  std::vector<std::size_t> draws(settings.size(), 100);
  std::vector<double> speeds(settings.size());
  for (int round = 0; round <= rounds; ++round)  // the first finds out how many steps take that long
    for (std::size_t k = 0; k < settings.size() && !stop; ++k) {
      RunSettings s;
      apply(settings[k], s);
      s.metric = problem.metric;
      s.warmup = 20 * sweep_steps(s.sampler, dimension);  // the fewest that learn a metric
      s.thin = thin;
      s.draws = draws[k];
      s.chains = 1;
      s.seed = 1;
      Hooks hooks;
      hooks.stop = &stop;
      hooks.keep_draws = false;
      const Run run = sample(problem.posterior->target, s, hooks);
      const ChainRecord& chain = run.chains.front();
      const double speed = static_cast<double>(chain.sampling_steps) / std::max(chain.sampling_seconds, 1e-9);
      if (round > 0) speeds[k] = std::max(speeds[k], speed);
      draws[k] = std::clamp(static_cast<std::size_t>(speed * round_seconds / thin), least_draws, most_draws);
    }
  return speeds;
}

}  // namespace onward::bench
