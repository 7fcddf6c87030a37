#include "defaults.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward::bench {
namespace {

constexpr double allowed_seconds = 60, wanted_ess = 400, most_mean_error = 4, most_variance_error = 0.1;

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const std::size_t half = x.size() / 2;
  return x.size() % 2 == 1 ? x[half] : (x[half - 1] + x[half]) / 2;
}

using Runs = std::vector<const DefaultFigures*>;

/// Runs of each posterior, in the order in which they were made.
std::vector<Runs> by_posterior(const DefaultsResult& result) {
  std::vector<Runs> all;
  for (const auto& run : result.runs) {
    if (all.empty() || all.back().front()->posterior != run.posterior) all.emplace_back();
    all.back().push_back(&run);
  }
  return all;
}

double largest(const Runs& runs, double DefaultFigures::*figure) {
  double most = 0;
  for (const auto* run : runs) most = std::max(most, run->*figure);
  return most;
}

bool warned(const DefaultFigures& f) { return !f.warnings.empty(); }

/// On the two whose tails nothing samples well, a warning will do.
bool is_hard(const std::string& name) { return name == "funnel" || name == "rosenbrock"; }

/// Right as well as fast. An answer that is not known is NaN, and is not held against a run.
bool right(const DefaultFigures& f) {
  const bool in_time = f.seconds <= allowed_seconds;
  if (is_hard(f.posterior)) return in_time && (f.variance_error <= most_variance_error || warned(f));
  return in_time && f.arrived() && f.min_ess > wanted_ess && !(f.mean_error > most_mean_error) &&
         !(f.variance_error > most_variance_error);
}

/// "nuts", or "nuts 4, mala 1" of five runs.
std::string samplers_of(const Runs& runs) {
  std::map<std::string, int> counts;
  for (const auto* run : runs) ++counts[run->sampler];
  std::string words;
  for (const auto& [name, count] : counts) {
    if (!words.empty()) words += ", ";
    words += counts.size() == 1 ? name : fmt::format("{} {}", name, count);
  }
  return words;
}

}  // namespace

DefaultsResult defaults(const DefaultsOptions& options, const Hears& hears, const std::atomic<bool>& stop) {
  DefaultsResult result;
  for (const auto& name : chosen_posteriors(options.only, options.posteriordb)) {
    const KnownPosterior posterior = make_posterior(name, options.posteriordb);
    for (std::size_t seed = 1; seed <= options.seeds; ++seed) {
      DefaultSettings s;
      s.seed = seed;
      s.threads = options.threads;
      DefaultFigures figures = default_figures(posterior, s, &stop);
      if (stop) {
        result.complete = false;
        return result;
      }
      hears(fmt::format("{}, seed {}: {}, {:.2f} s of processors, least ESS {:.0f}, R-hat {:.3f}", name, seed,
                        figures.sampler, figures.processor_seconds, figures.min_ess, figures.max_rhat));
      result.runs.push_back(std::move(figures));
    }
  }
  return result;
}

std::vector<std::string> arriving_posteriors(const std::string& posteriordb) {
  if (posteriordb.empty())
    throw UsageError("arrives needs data of posteriordb: give its folder with --posteriordb DIR");
  return {"arK",  "logearn_height", "hmm_example", "lotka_volterra", "low_dim_gauss_mix",
          "arma", "earnings",       "hmm-drives",  "motorcycle",     "negative-binomial"};
}

std::vector<Row> default_rows(const DefaultsResult& result) {
  std::vector<Row> rows;
  for (const auto& runs : by_posterior(result)) {
    const std::string name = runs.front()->posterior;
    const auto share = [&](const auto& holds) {
      return static_cast<double>(
                 std::count_if(runs.begin(), runs.end(), [&](auto* f) { return holds(*f); })) /
             static_cast<double>(runs.size());
    };
    const auto row = [&](const std::string& what, double value, const char* unit) {
      rows.push_back({name + ": " + what, value, unit});
    };
    std::vector<double> speeds;
    for (const auto* run : runs) speeds.push_back(run->per_second());
    row(fmt::format("least ESS per processor second of the whole run, by {}", samplers_of(runs)),
        median(speeds), "ESS/s");
    rows.push_back({name + ": runs that are right and fast",
                    share(right),
                    "share",
                    {},
                    {},
                    {},
                    is_hard(name)
                        ? "variances within 10%, or a warning, within 60 s"
                        : "R-hat < 1.01, ESS > 400, means within 4 standard errors, variances within 10%, "
                          "within 60 s",
                    share(right) == 1});
    row("seconds, the longest", largest(runs, &DefaultFigures::seconds), "s");
    row("processor seconds, the most", largest(runs, &DefaultFigures::processor_seconds), "s");
    double least = INFINITY;
    for (const auto* run : runs) least = std::min(least, run->min_ess);
    row("least ESS of all runs", least, "ESS");
    row("largest R-hat", largest(runs, &DefaultFigures::max_rhat), "R-hat");
    row("largest error of a mean", largest(runs, &DefaultFigures::mean_error), "standard errors");
    row("largest error of a variance", largest(runs, &DefaultFigures::variance_error), "relative");
    row("runs with warnings", share(warned), "share");
    row("runs that are wrong without a warning", share([](const DefaultFigures& f) {
          return !warned(f) && (f.mean_error > most_mean_error + 1 || f.variance_error > 0.3);
        }),
        "share");
  }
  return rows;
}

std::vector<Row> arrives_rows(const DefaultsResult& result) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const Runs& runs, bool barred) {
    const auto count = [&](bool (DefaultFigures::*there)() const) {
      return static_cast<double>(
          std::count_if(runs.begin(), runs.end(), [&](const auto* run) { return (run->*there)(); }));
    };
    const auto all = static_cast<double>(runs.size());
    for (const auto& [program, arrived] :
         {std::tuple{"onward sample", count(&DefaultFigures::arrived)},
          std::tuple{"onward::sample", count(&DefaultFigures::arrived_early)}}) {
      Row row{fmt::format("{}: runs of {} with R-hat < 1.01, of {}", name, program, all), arrived, "runs"};
      if (barred) {
        row.bar = fmt::format(">= 99% of {}", all);
        row.met = arrived >= 0.99 * all;
      }
      rows.push_back(row);
    }
  };
  Runs all;
  for (const auto& runs : by_posterior(result)) {
    add(runs.front()->posterior, runs, false);
    all.insert(all.end(), runs.begin(), runs.end());
  }
  if (!all.empty()) add("all", all, true);
  return rows;
}

}  // namespace onward::bench
