#include "onward/run/tune.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/price.hpp"

namespace onward {
namespace {

/// A Gaussian process with a squared-exponential kernel through standardised values.
class Process {
 public:
  Process(const std::vector<double>& x, const Eigen::VectorXd& y, double length, double noise)
      : x_(x), length_(length), noise_(noise) {
    const auto n = static_cast<Eigen::Index>(x.size());
    Eigen::MatrixXd k(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j) k(i, j) = kernel(x[index(i)], x[index(j)]) + (i == j ? noise : 0);
    factor_.compute(k);
    weights_ = factor_.solve(y);
    double log_determinant = 0;
    for (Eigen::Index i = 0; i < n; ++i) log_determinant += 2 * std::log(factor_.matrixL()(i, i));
    log_likelihood_ = -0.5 * (y.dot(weights_) + log_determinant);
  }

  double log_likelihood() const { return log_likelihood_; }

  /// Mean and standard deviation of the curve at a place.
  std::pair<double, double> at(double x) const {
    Eigen::VectorXd k(static_cast<Eigen::Index>(x_.size()));
    for (Eigen::Index i = 0; i < k.size(); ++i) k[i] = kernel(x, x_[index(i)]);
    const double variance = 1 - k.dot(factor_.solve(k));
    return {k.dot(weights_), std::sqrt(std::max(variance, 1e-12))};
  }

 private:
  static std::size_t index(Eigen::Index i) { return static_cast<std::size_t>(i); }
  double kernel(double a, double b) const {
    const double d = (a - b) / length_;
    return std::exp(-0.5 * d * d);
  }
  const std::vector<double>& x_;
  double length_, noise_, log_likelihood_ = 0;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd weights_;
};

double expected_improvement(double mean, double sd, double best) {
  const double z = (mean - best) / sd;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return (mean - best) * 0.5 * std::erfc(-z / std::numbers::sqrt2) + sd * density;
}

std::vector<double> log_spaced(double least, double most, std::size_t points) {
  std::vector<double> result;
  for (std::size_t i = 0; i < points; ++i) {
    const double share = points == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(points - 1);
    result.push_back(least * std::pow(most / least, share));
  }
  return result;
}

constexpr double worst = -std::numeric_limits<double>::infinity();

/// What the process is put through: a failed trial counts as the least of the others. ESS spans orders of
/// magnitude, and its logarithm is nearer to what the process assumes.
std::vector<double> smooth_scores(const std::vector<Trial>& trials, bool logarithmic) {
  double top = worst, least = std::numeric_limits<double>::infinity();
  for (const auto& trial : trials)
    if (trial.score > worst) {
      top = std::max(top, trial.score);
      least = std::min(least, trial.score);
    }
  if (top == worst) top = least = 0;
  std::vector<double> result;
  for (const auto& trial : trials) {
    const double score = std::max(trial.score, least);
    result.push_back(logarithmic ? std::log(std::max(score, 1e-4 * top + 1e-300)) : score);
  }
  return result;
}

}  // namespace

std::string_view to_string(Search search) { return search == Search::grid ? "grid" : "bayes"; }

Search search_from_string(std::string_view name) {
  for (auto search : {Search::grid, Search::bayes})
    if (name == to_string(search)) return search;
  throw UsageError(fmt::format("`tune` '{}' is not known: it is bayes or grid", name));
}

double ess_per_evaluation(const Run& run) {
  return run.least_ess() / EvaluationPrice::of_dimension(run.dimension).of(run.counts());
}

RunSettings trial_settings(const RunSettings& settings, std::size_t dimension) {
  const RunSettings whole = resolve(settings, dimension);
  RunSettings trial = settings;
  trial.chains = std::min<std::size_t>(2, settings.chains);
  trial.warmup = *whole.warmup / 5;
  trial.draws = std::max<std::size_t>(50, settings.draws / 5);
  trial.thin = whole.thin;
  trial.metric = settings.metric.value_or(default_metric(dimension));
  trial.max_seconds = 0;
  trial.until_ess = {};
  return trial;
}

double most_promising(const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<double>& candidates) {
  Eigen::VectorXd values = Eigen::Map<const Eigen::VectorXd>(y.data(), static_cast<Eigen::Index>(y.size()));
  values.array() -= values.mean();
  const double spread = std::sqrt(values.squaredNorm() / static_cast<double>(y.size()));
  if (spread > 0) values /= spread;
  std::optional<Process> likeliest;
  for (double length : {0.3, 0.6, 1.2, 2.4})
    for (double noise : {1e-3, 1e-2, 1e-1}) {
      Process process(x, values, length, noise);
      if (!likeliest || process.log_likelihood() > likeliest->log_likelihood()) likeliest.emplace(process);
    }
  // The best of the curve at the points, since single values are noisy.
  double best = -std::numeric_limits<double>::infinity();
  for (double place : x) best = std::max(best, likeliest->at(place).first);
  double chosen = candidates.front(), most = -1;
  for (double place : candidates) {
    const auto [mean, sd] = likeliest->at(place);
    const double gain = expected_improvement(mean, sd, best);
    if (gain > most) {
      most = gain;
      chosen = place;
    }
  }
  return chosen;
}

Tuning tune_step_size(const AnyTarget& target, const RunSettings& settings, const TuneSettings& tune,
                      const Hooks& hooks) {
  const SamplerInfo& sampler = find_sampler(settings.sampler);
  if (!sampler.tuned)
    throw UsageError(fmt::format("sampler {} has no step size to tune; leave `tune` out", settings.sampler));
  if (tune.trials == 0) throw UsageError("0 trials find nothing: give 1 or more");
  if ((tune.least && !(*tune.least > 0)) || (tune.most && !std::isfinite(*tune.most)) ||
      (tune.least && tune.most && !(*tune.least < *tune.most)))
    throw UsageError(fmt::format("a range of step sizes from {} to {} is none", tune.least.value_or(0),
                                 tune.most.value_or(0)));
  const auto score = tune.score ? tune.score : ess_per_evaluation;
  Tuning tuning;
  tuning.search = tune.search;
  Hooks quiet;
  quiet.stop = hooks.stop;
  quiet.progress = hooks.progress;
  const auto begin = std::chrono::steady_clock::now();
  const auto stopped = [&] {
    const std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
    return (hooks.stop && *hooks.stop) || (tune.max_seconds > 0 && used.count() >= tune.max_seconds);
  };

  const auto run_at = [&](std::optional<double> step_size) {
    RunSettings trial = settings;
    trial.step_size = step_size;
    trial.adapt_in_warmup = true;
    return sample(target, trial, quiet);
  };
  const auto note = [&](double step_size, const Run& run) {
    double acceptance = 0;
    for (const auto& chain : run.chains)
      acceptance += chain.acceptance / static_cast<double>(run.chains.size());
    const double value = score(run);
    tuning.trials.push_back({step_size, std::isfinite(value) ? value : worst, acceptance});
  };

  double least = tune.least.value_or(0), most = tune.most.value_or(0);
  if (!tune.least || !tune.most) {
    const Run run = run_at(std::nullopt);
    const double found = run.chains.front().step_size;
    note(found, run);
    if (!tune.least) least = std::min(found / 10, tune.most ? *tune.most / 2 : found);
    if (!tune.most) most = std::max(found * 10, 2 * least);
  }
  const auto try_at = [&](double step_size) {
    if (!stopped()) note(step_size, run_at(step_size));
  };
  if (tune.search == Search::grid) {
    for (double step_size : log_spaced(least, most, tune.trials)) try_at(step_size);
  } else {
    std::vector<double> logs;
    for (double step_size : log_spaced(least, most, 200)) logs.push_back(std::log(step_size));
    for (double step_size : log_spaced(least, most, std::min<std::size_t>(4, tune.trials))) try_at(step_size);
    while (tuning.trials.size() < tune.trials && !logs.empty() && !stopped()) {
      std::vector<double> x;
      for (const auto& trial : tuning.trials) x.push_back(std::log(trial.step_size));
      const double next = most_promising(x, smooth_scores(tuning.trials, !tune.score), logs);
      std::erase(logs, next);  // the same trial again would say the same
      try_at(std::exp(next));
    }
  }
  if (tuning.trials.empty()) return tuning;
  tuning.step_size =
      std::ranges::max_element(tuning.trials, {}, [](const Trial& trial) { return trial.score; })->step_size;
  return tuning;
}

}  // namespace onward
