#include "posteriors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/price.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/suggest.hpp"
#include "onward/util/thread_pool.hpp"
#include "posterior_set.hpp"
#include "whitened.hpp"

namespace onward::bench {
namespace {

/// Calls f(0) ... f(count - 1) on all cores.
template <class F>
void parallel_for(std::size_t count, const F& f) {
  ThreadPool(std::max(1U, std::thread::hardware_concurrency())).for_each(count, f);
}

constexpr std::size_t chains_per_run = 4;
constexpr std::size_t chains_per_pilot = 8;
constexpr std::size_t starts = 64;

/// How much is spent on a posterior.
struct Effort {
  double budget;         ///< evaluations of a run
  std::size_t runs;      ///< with tuned settings; half as many with the sampler's own warm-up
  std::size_t pool;      ///< independent draws from which metric and starts come
  double pilot, refine;  ///< share of the budget for a point of the coarse and of the fine grid
};

Effort effort_for(const Posterior& posterior, const PosteriorsOptions& options) {
  const std::size_t dimension = posterior.target.dimension();
  Effort e{200'000, 8, 20'000, 0.08, 0.2};
  if (posterior.kind == Kind::costly) e.budget = 60'000;
  if (posterior.kind == Kind::slow) e = {dimension > 20 ? 500'000.0 : 1'000'000.0, 8, 20'000, 0.2, 0.5};
  if (dimension > 20) e.runs = 5;
  if (dimension > 100) e.pool = 8000;
  if (dimension > 500) e = {300'000, 3, 4000, 0.1, 0.2};
  if (options.quick) {
    e.budget = 10'000;
    e.runs = 2;
    e.pool /= 4;
    e.refine = 0.1;
  }
  if (options.budget) e.budget = static_cast<double>(*options.budget);
  return e;
}

/// A posterior made ready: in the units of its metric, with places to start from.
struct Problem {
  const Posterior* posterior;
  AnyTarget whitened;
  std::vector<std::vector<double>> starts;  ///< in those units
  MetricKind metric;
  EvaluationPrice price;
};

// A dense metric asks for many times D independent draws, and for D² operations a step.
constexpr std::size_t dense_limit = 100;

Problem prepare(const Posterior& posterior, std::size_t pool) {
  const std::size_t dimension = posterior.target.dimension();
  constexpr std::uint64_t pool_seed = 7;
  std::vector<std::vector<double>> draws(pool, std::vector<double>(dimension));
  std::vector<double> weights(pool);
  parallel_for(pool, [&](std::size_t n) {
    weights[n] = posterior.source(Stream(pool_seed, static_cast<std::uint32_t>(n)), draws[n]);
  });
  const double highest = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& w : weights) total += w = std::exp(w - highest);

  // The spread of the draws, as warm-up would learn it in the end.
  const auto size = static_cast<Eigen::Index>(dimension);
  const bool dense = dimension <= dense_limit && dimension > 1;
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(size), squares = mean;
  Eigen::MatrixXd products = Eigen::MatrixXd::Zero(dense ? size : 0, dense ? size : 0);
  for (std::size_t n = 0; n < pool; ++n) {
    const Eigen::Map<const Eigen::VectorXd> x(draws[n].data(), size);
    mean += weights[n] / total * x;
    squares += weights[n] / total * x.cwiseAbs2();
    if (dense) products.selfadjointView<Eigen::Lower>().rankUpdate(x, weights[n] / total);
  }
  Scales scales;
  if (dense) {
    products.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1);
    scales.lower = products.llt().matrixL();
  } else {
    scales.diagonal = (squares - mean.cwiseAbs2()).cwiseSqrt();
  }

  // Starts by systematic resampling: a draw is taken as often as its weight says.
  Problem problem{&posterior,
                  Whitened(posterior.target, std::make_shared<const Scales>(scales)),
                  {},
                  dense ? MetricKind::dense : MetricKind::diag,
                  EvaluationPrice::of_dimension(dimension)};
  double passed = 0;
  for (std::size_t n = 0; n < pool; ++n) {
    passed += weights[n] / total * static_cast<double>(starts);
    while (problem.starts.size() < starts && passed > static_cast<double>(problem.starts.size()) + 0.5)
      problem.starts.push_back(scales.whiten(draws[n]));
  }
  return problem;
}

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

/// A sampler at one setting.
struct Setting {
  const SamplerInfo* sampler;
  double value;  ///< step size, or relaxation of a sampler that has none
  std::string directions = "auto";
  Tangent tangent = Tangent::kept;
};

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
  RunSettings s;
  apply(setting, s);
  s.metric = MetricKind::none;
  s.warmup = 0;
  s.chains = 1;
  s.thin = thin_for(*setting.sampler, problem.whitened.dimension(), steps);
  s.draws = std::max<std::size_t>(4, steps / *s.thin);
  Hooks hooks;
  hooks.stop = &stop;
  std::vector<ChainRecord> records;
  for (std::size_t c = 0; c < chains; ++c) {
    s.seed = 1000 * seed + c;
    s.start = {Start::Kind::given, 1, problem.starts[(seed * chains + c) % problem.starts.size()]};
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

/// The setting with the most ESS per evaluation: a coarse grid, then a fine one around its best point.
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

/// The sampler on the target itself, from random starts, by its own warm-up on half of the budget.
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

/// Steps per second of each setting, in turn: the best of several rounds.
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

/// All kinds of evaluation in turn, at a typical place: the best of several rounds of about a millisecond.
MeasuredPrices measure_prices(const Posterior& posterior) {
  AnyTarget target = posterior.target;
  std::vector<double> theta(target.dimension()), v(theta.size()), w(theta.size()), gradient(theta.size());
  const Stream stream(3, 0);
  posterior.source(stream, theta);
  stream.direction(0, Purpose::direction, v);
  stream.direction(1, Purpose::direction, w);
  const std::array<std::function<double()>, 6> kinds{
      [&] { return target.value(theta); },
      [&] { return target.jet(theta, v, Order::slope).slope; },
      [&] { return target.jet(theta, v, Order::curvature).curvature; },
      [&] { return target.jet_pair(theta, v, w, Order::slope).second.slope; },
      [&] { return target.jet_pair(theta, v, w, Order::curvature).second.curvature; },
      [&] { return target.gradient(theta, gradient); }};
  std::array<double, 6> seconds;
  seconds.fill(INFINITY);
  constexpr int rounds = 15;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const auto begin = Clock::now();
      int calls = 0;
      do {
        for (int i = 0; i < 20; ++i) keep(kinds[k]());
        calls += 20;
      } while (seconds_since(begin) < 1e-3);
      seconds[k] = std::min(seconds[k], seconds_since(begin) / calls);
    }
  const double value = seconds[0];
  return {value,
          seconds[1] / value,
          seconds[2] / value,
          seconds[3] / value,
          seconds[4] / value,
          seconds[5] / value};
}

/// Both ways at their best settings.
std::optional<Comparison> compare(const Problem& problem, Comparison comparison, const Setting& first,
                                  const Setting& second, const Effort& effort, bool quick,
                                  const std::atomic<bool>& stop) {
  std::vector<Setting> settings{first, second};
  std::vector<SamplerFigures> figures;
  for (auto& setting : settings) {
    if (setting.sampler->tuned) setting = tune(problem, setting, effort, stop);
    if (const auto f = measure(problem, setting, effort, stop)) figures.push_back(*f);
  }
  const auto speeds = measure_speed(problem, settings, quick, stop);
  if (stop) return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) figures[k].steps_per_second = speeds[k];
  comparison.first = figures[0];
  comparison.second = figures[1];
  return comparison;
}

/// What the defaults of a sampler gain, where that can be told from other things.
std::vector<Comparison> compare_ways(const Problem& problem, const Effort& effort, bool quick,
                                     const std::atomic<bool>& stop) {
  std::vector<Comparison> list;
  const auto add = [&](const std::optional<Comparison>& comparison) {
    if (comparison) list.push_back(*comparison);
  };
  const std::size_t dimension = problem.whitened.dimension();
  const std::string& name = problem.posterior->name;
  if (name.starts_with("gaussian") && dimension >= 10 && dimension <= 100)
    add(compare(problem,
                {.name = "newton-line, frames against sphere",
                 .peer = "independent directions",
                 .first = {},
                 .second = {},
                 .by_time = false,
                 .wanted = 1.4},
                {&find_sampler("newton-line"), 1, "frames"}, {&find_sampler("newton-line"), 1, "sphere"},
                effort, quick, stop));
  if (name == "logistic")
    add(compare(problem,
                {.name = "fmala, one jet a step against the published two",
                 .peer = "--tangent fresh",
                 .first = {},
                 .second = {},
                 .by_time = true,
                 .wanted = 1.6},
                {&find_sampler("fmala"), 1}, {&find_sampler("fmala"), 1, "auto", Tangent::fresh}, effort,
                quick, stop));
  return list;
}

DefaultRun default_run(const Posterior& posterior, const std::atomic<bool>& stop) {
  RunSettings s;
  s.seed = 1;
  s.max_seconds = posterior.allowed_seconds;
  Hooks hooks;
  hooks.stop = &stop;
  const auto begin = Clock::now();
  const Run run = sample(posterior.target, s, hooks);
  DefaultRun result{run.settings.sampler, seconds_since(begin), posterior.allowed_seconds, INFINITY, 0};
  if (stop || run.draws() < 4) return result;
  result.max_rhat = 0;
  result.min_ess = INFINITY;
  for (const auto& parameter : run.summary()) {
    result.max_rhat = std::max(result.max_rhat, std::isnan(parameter.rhat) ? INFINITY : parameter.rhat);
    result.min_ess = std::min(result.min_ess, parameter.ess_bulk);
  }
  return result;
}

LongestStay longest_stay(const Problem& problem, const Setting& setting, std::size_t steps,
                         const std::atomic<bool>& stop) {
  RunSettings s;
  apply(setting, s);
  s.metric = MetricKind::none;
  s.warmup = 0;
  s.chains = 1;
  s.thin = 1;
  s.draws = steps;
  s.seed = 11;
  s.start = {Start::Kind::given, 1, problem.starts.front()};
  Hooks hooks;
  hooks.stop = &stop;
  const Run run = sample(problem.whitened, s, hooks);
  const auto& values = run.chains.front().values;
  std::size_t longest = 0, stay = 0;
  for (std::size_t n = 1; n < values.size(); ++n) {
    stay = values[n] == values[n - 1] ? stay + 1 : 0;
    longest = std::max(longest, stay);
  }
  return {std::string(setting.sampler->name), steps, longest};
}

std::vector<const SamplerInfo*> chosen_samplers(const std::vector<std::string>& list) {
  std::vector<const SamplerInfo*> chosen;
  if (list.empty())
    for (const auto& info : samplers()) chosen.push_back(&info);
  for (const auto& name : list) chosen.push_back(&find_sampler(name));
  return chosen;
}

bool asked(const PosteriorsOptions& options, std::string_view part) {
  if (options.parts.empty()) return !(options.quick && part == "defaults");
  return std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
}

void check_parts(const std::vector<std::string>& parts) {
  const std::vector<std::string> known{"tuned", "untuned", "ways", "defaults", "stays", "prices"};
  for (const auto& part : parts)
    if (std::find(known.begin(), known.end(), part) == known.end())
      throw UsageError(fmt::format("--parts '{}' is not known.{} Parts: {}", part, suggestion(part, known),
                                   joined(known)));
}

/// Everything that was asked for of one posterior; incomplete if it was stopped.
PosteriorFigures measure_posterior(const Posterior& posterior, const PosteriorsOptions& options,
                                   const std::vector<const SamplerInfo*>& infos,
                                   const std::function<void()>& begin_piece, const std::atomic<bool>& stop) {
  const Effort effort = effort_for(posterior, options);
  const Problem problem = prepare(posterior, effort.pool);
  PosteriorFigures f;
  f.name = posterior.name;
  f.command = posterior.command;
  f.dimension = posterior.target.dimension();
  f.one_dimensional = posterior.one_dimensional;
  f.metric = to_string(problem.metric);
  f.quantities = posterior.quantities.words;
  f.budget = effort.budget;
  f.runs = effort.runs;

  if (asked(options, "tuned")) {
    std::vector<Setting> settings;
    for (const SamplerInfo* info : infos) {
      if (stop) return f;
      begin_piece();
      // A sampler without a step size is first of all measured as it is.
      if (!info->tuned) settings.push_back({info, 1});
      const Setting best = tune(problem, {info, 1}, effort, stop);
      if (info->tuned || best.value != 1) settings.push_back(best);
      while (f.tuned.size() < settings.size()) {
        const auto figures = measure(problem, settings[f.tuned.size()], effort, stop);
        if (!figures) return f;
        f.tuned.push_back(*figures);
      }
    }
    const auto speeds = measure_speed(problem, settings, options.quick, stop);
    for (std::size_t k = 0; k < settings.size(); ++k) f.tuned[k].steps_per_second = speeds[k];
    for (const auto& setting : settings) {
      if (!asked(options, "stays") || !f.one_dimensional || stop) break;
      const bool newton = setting.sampler->name == "newton-line";
      if (newton ? setting.value == 1 : setting.sampler->name == "pc-line-fmala")
        f.stays.push_back(longest_stay(problem, setting, options.quick ? 100'000 : 1'000'000, stop));
    }
  }
  if (asked(options, "untuned"))
    for (const SamplerInfo* info : infos) {
      if (stop) return f;
      begin_piece();
      if (const auto figures = measure_untuned(problem, *info, effort, stop)) f.untuned.push_back(*figures);
    }
  if (asked(options, "ways") && !stop) f.comparisons = compare_ways(problem, effort, options.quick, stop);
  if (asked(options, "prices") && !stop) f.prices = measure_prices(posterior);
  if (asked(options, "defaults") && !f.command.empty() && !stop) {
    begin_piece();
    f.default_run = default_run(posterior, stop);
  }
  return f;
}

}  // namespace

bool DefaultRun::met() const { return max_rhat < 1.01 && min_ess > 400 && seconds <= allowed + 1; }

PosteriorsResult posteriors(const PosteriorsOptions& options, const PosteriorsProgress& progress,
                            const std::atomic<bool>& stop) {
  check_parts(options.parts);
  auto names = chosen_posteriors(options.only);
  if (options.quick && options.only.empty())
    std::erase_if(names, [](const auto& name) { return name.starts_with("gaussian-1000"); });
  const auto infos = chosen_samplers(options.samplers);
  const std::size_t pieces_each = (asked(options, "tuned") ? infos.size() : 0) +
                                  (asked(options, "untuned") ? infos.size() : 0) +
                                  (asked(options, "defaults") ? 1 : 0);
  const std::size_t total = names.size() * pieces_each;
  const auto begin = Clock::now();

  PosteriorsResult result;
  result.quick = options.quick;
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::size_t done = k * pieces_each;
    const auto begin_piece = [&] { progress(done++, total); };
    const Posterior posterior = make_posterior(names[k]);
    auto figures = measure_posterior(posterior, options, infos, begin_piece, stop);
    if (stop) {
      result.complete = false;
      break;
    }
    result.posteriors.push_back(std::move(figures));
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace onward::bench
