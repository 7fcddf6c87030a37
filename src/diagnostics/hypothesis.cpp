#include "onward/diagnostics/hypothesis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "autocorrelation.hpp"
#include "onward/error.hpp"

namespace onward {
namespace {

/// The difference at every draw; chains are cut to the shortest.
Chains differences(const Expression& difference, const std::function<Chains(std::size_t)>& column) {
  std::vector<Chains> columns;
  for (const std::size_t name : difference.used()) columns.push_back(column(name));
  std::size_t draws = std::numeric_limits<std::size_t>::max();
  for (const auto& chain : columns.front()) draws = std::min(draws, chain.size());
  Chains values(columns.front().size(), std::vector<double>(draws));
  std::vector<double> at(columns.size());
  for (std::size_t c = 0; c < values.size(); ++c)
    for (std::size_t d = 0; d < draws; ++d) {
      for (std::size_t j = 0; j < columns.size(); ++j) at[j] = columns[j][c][d];
      values[c][d] = difference(at);
    }
  return values;
}

void require_finite(const Chains& chains) {
  std::size_t all = 0, bad = 0, first_chain = 0, first_draw = 0;
  for (std::size_t c = 0; c < chains.size(); ++c)
    for (std::size_t d = 0; d < chains[c].size(); ++d) {
      ++all;
      if (std::isfinite(chains[c][d])) continue;
      if (bad++ > 0) continue;
      first_chain = c;
      first_draw = d;
    }
  if (bad > 0)
    throw Error(
        fmt::format("it has no finite value at {} of {} draws, first at draw {} of chain {}: a logarithm or "
                    "a root of a negative "
                    "number, say, or a division by zero",
                    bad, all, first_draw + 1, first_chain + 1));
}

Hypothesis::Belief belief(const Chains& difference, Comparison::Kind kind) {
  Chains holds = difference;
  for (auto& chain : holds)
    for (double& x : chain) x = (kind == Comparison::Kind::greater ? x > 0 : x < 0) ? 1 : 0;
  double sum = 0, all = 0;
  for (const auto& chain : holds)
    for (const double x : chain) {
      sum += x;
      ++all;
    }
  Hypothesis::Belief result{.probability = sum / all,
                            .mcse = mcse_mean(holds),
                            .bound = 3 / std::min(all, ess_mean(difference)),
                            .evidence_ratio = sum / (all - sum)};
  if (sum == 0 || sum == all) result.mcse = std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace

Hypothesis judge(const Comparison& comparison, const std::function<Chains(std::size_t)>& column) {
  const Chains difference = differences(comparison.difference, column);
  require_finite(difference);
  std::vector<double> pooled;
  for (const auto& chain : difference) pooled.insert(pooled.end(), chain.begin(), chain.end());
  const auto [mean, variance] = detail::moments(pooled);
  Hypothesis result{.estimate = mean,
                    .sd = std::sqrt(variance),
                    .q2_5 = quantile(pooled, 0.025),
                    .q5 = quantile(pooled, 0.05),
                    .q95 = quantile(pooled, 0.95),
                    .q97_5 = quantile(pooled, 0.975),
                    .mcse = mcse_mean(difference)};
  if (comparison.kind != Comparison::Kind::equal) result.belief = belief(difference, comparison.kind);
  return result;
}

}  // namespace onward
