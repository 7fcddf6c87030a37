// Which acceptance warm-up should steer each sampler to: effective draws per evaluation against the wanted
// acceptance, on targets of several kinds. The figures behind the defaults in src/sampler/samplers.cpp
// (docs/decisions/acceptance.md).

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bench.hpp"
#include "models/logistic.hpp"
#include "models/models.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward::bench {
namespace {

struct NamedTarget {
  std::string name;
  AnyTarget target;
};

std::vector<NamedTarget> study_targets() {
  const auto gaussian = [](std::size_t dimension, double condition) {
    return models::make("gaussian", {.dimension = dimension, .condition = condition}).target;
  };
  return {{"gaussian D=2", gaussian(2, 1)},
          {"gaussian D=20", gaussian(20, 1)},
          {"gaussian D=100", gaussian(100, 1)},
          {"gaussian D=20, condition 10", gaussian(20, 10)},
          {"eight-schools", models::make("eight-schools").target},
          {"logistic regression, 10 predictors, 100 rows", target(10, models::LogisticDensity(100, 10))}};
}

/// Smallest bulk ESS per thousand steps.
double efficiency(const AnyTarget& target, const SamplerInfo& sampler, double acceptance) {
  RunSettings settings;
  settings.sampler = sampler.name;
  settings.target_acceptance = acceptance;
  settings.seed = 3;
  const std::size_t dimension = target.dimension();
  // The same number of steps for all; draws thinned so that those of large dimensions are not all kept.
  const std::size_t steps = 2000 * std::max<std::size_t>(dimension, 10);
  settings.thin = std::max<std::size_t>(1, dimension / 4);
  settings.draws = steps / *settings.thin;
  settings.warmup = steps / 2;
  const Run run = sample(target, settings);
  double least = 1e300;
  for (const auto& row : run.summary()) least = std::min(least, row.ess_bulk);
  return 1000 * least / static_cast<double>(steps * settings.chains);
}

}  // namespace

std::vector<Row> acceptance() {
  const std::vector<double> grid{0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95};
  std::vector<Row> rows;
  for (const auto& sampler : samplers())
    for (const auto& [name, target] : study_targets()) {
      double best = 0, best_at = 0;
      std::string curve;
      for (const double wanted : grid) {
        const double found = efficiency(target, sampler, wanted);
        curve += fmt::format(" {}:{:.3g}", wanted, found);
        if (found > best) {
          best = found;
          best_at = wanted;
        }
      }
      const double at_default = efficiency(target, sampler, sampler.target_acceptance);
      rows.push_back(
          {fmt::format("{}, {}: min ESS per 1000 steps at acceptance{}", sampler.name, name, curve),
           at_default, fmt::format("ESS/1000 steps at the default {}", sampler.target_acceptance),
           fmt::format("best on the grid, at {}", best_at), best, at_default / best});
    }
  return rows;
}

}  // namespace onward::bench
