#include "bench/posteriors/default_run.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "onward/diagnostics/convergence.hpp"
#include "onward/run/run.hpp"
#include "onward/util/clock.hpp"

namespace onward::bench {
namespace {

constexpr std::size_t library_draws = 1000, program_draws = 8000;
constexpr double program_ess = 400;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// R-hat, or infinity where it is not a number: chains that all stand still have not arrived.
double trusted_rhat(double rhat) { return std::isnan(rhat) ? INFINITY : rhat; }

/// The draws of quantity i, chain by chain.
Chains draws_of(const std::vector<std::vector<double>>& chains, std::size_t size, std::size_t i) {
  Chains draws;
  for (const auto& values : chains) {
    auto& chain = draws.emplace_back();
    for (std::size_t n = i; n < values.size(); n += size) chain.push_back(values[n]);
  }
  return draws;
}

/// Largest errors of means and variances against the answers.
void compare(const Run& run, const Quantities& quantities, DefaultFigures& figures) {
  const std::size_t size = quantities.mean.size();
  if (size == 0) {
    figures.mean_error = figures.mean_error_sd = figures.variance_error = NAN;
    return;
  }
  std::vector<std::vector<double>> chains;
  for (const auto& chain : run.chains) {
    auto& values = chains.emplace_back(chain.draws * size);
    for (std::size_t n = 0; n < chain.draws; ++n)
      quantities.from({&chain.values[n * size], size}, {&values[n * size], size});
  }
  for (std::size_t i = 0; i < size; ++i) {
    const ParameterSummary s = summarise("", draws_of(chains, size, i));
    const double own = quantities.mean_error.empty() ? 0 : quantities.mean_error[i];
    const double off = std::abs(s.mean - quantities.mean[i]);
    figures.mean_error = std::max(figures.mean_error, off / std::hypot(s.mcse_mean, own));
    figures.mean_error_sd = std::max(figures.mean_error_sd, off / std::sqrt(quantities.variance[i]));
    figures.variance_error =
        std::max(figures.variance_error, std::abs(s.sd * s.sd / quantities.variance[i] - 1));
  }
}

}  // namespace

DefaultFigures default_figures(const KnownPosterior& posterior, const DefaultSettings& settings,
                               const std::atomic<bool>* stop) {
  RunSettings s;
  s.sampler = settings.sampler;
  s.seed = settings.seed;
  s.threads = settings.threads;
  s.max_seconds = settings.max_seconds;
  if (settings.draws > 0) {
    s.draws = settings.draws;
  } else if (settings.length == Length::program) {
    s.until_ess = program_ess;
    s.min_draws = library_draws;
    s.draws = program_draws;
  }
  Hooks hooks;
  hooks.stop = stop;
  const auto begin = Clock::now();
  const double processor_begin = processor_seconds();
  const Run run = sample(posterior.target, s, hooks);

  DefaultFigures figures;
  figures.seconds = seconds_since(begin);
  figures.processor_seconds = processor_seconds() - processor_begin;
  figures.posterior = posterior.name;
  figures.sampler = run.settings.sampler;
  figures.seed = settings.seed;
  figures.dimension = run.dimension;
  figures.draws = run.draws();
  figures.warnings = run.warnings();
  figures.max_rhat = figures.early_rhat = figures.draws < 4 ? INFINITY : 0;
  if (figures.draws < 4) return figures;
  figures.min_ess = figures.min_tail_ess = INFINITY;
  for (std::size_t i = 0; i < run.names.size(); ++i) {
    Chains draws = run.parameter(i);
    const ParameterSummary row = summarise(run.names[i], draws);
    figures.min_ess = std::min(figures.min_ess, row.ess_bulk);
    figures.min_tail_ess = std::min(figures.min_tail_ess, row.ess_tail);
    if (trusted_rhat(row.rhat) > figures.max_rhat) {
      figures.max_rhat = trusted_rhat(row.rhat);
      figures.worst = row.name;
    }
    if (settings.draws > 0) {
      figures.mean.push_back(row.mean);
      figures.sd.push_back(row.sd);
      figures.mcse.push_back(row.mcse_mean);
      for (auto& chain : draws)
        for (double& x : chain) x = (x - row.mean) * (x - row.mean);
      figures.sd_error.push_back(mcse_mean(draws) / (2 * row.sd));
      continue;
    }
    if (figures.draws > library_draws)
      for (auto& chain : draws) chain.resize(library_draws);
    figures.early_rhat =
        std::max(figures.early_rhat, trusted_rhat(figures.draws > library_draws ? rhat(draws) : row.rhat));
  }
  compare(run, posterior.quantities, figures);
  return figures;
}

nlohmann::ordered_json to_json(const DefaultFigures& f) {
  nlohmann::ordered_json json{{"posterior", f.posterior},
                              {"seed", f.seed},
                              {"sampler", f.sampler},
                              {"dimension", f.dimension},
                              {"draws", f.draws},
                              {"seconds", f.seconds},
                              {"processor_seconds", f.processor_seconds},
                              {"min_ess", f.min_ess},
                              {"min_tail_ess", f.min_tail_ess},
                              {"max_rhat", f.max_rhat},
                              {"early_rhat", f.early_rhat},
                              {"worst", f.worst},
                              {"mean_error", f.mean_error},
                              {"mean_error_sd", f.mean_error_sd},
                              {"variance_error", f.variance_error},
                              {"warnings", f.warnings}};
  if (!f.mean.empty()) {
    json["mean"] = f.mean;
    json["sd"] = f.sd;
    json["mcse"] = f.mcse;
    json["sd_error"] = f.sd_error;
  }
  return json;
}

}  // namespace onward::bench
