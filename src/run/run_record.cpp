// What can be asked of a run that is over.

#include <algorithm>
#include <cmath>

#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/run/run.hpp"

namespace onward {
std::size_t Run::draws() const {
  std::size_t least = chains.empty() ? 0 : chains.front().draws;
  for (const auto& chain : chains) least = std::min(least, chain.draws);
  return least;
}

Counts Run::counts() const {
  Counts sum;
  for (const auto& chain : chains) sum += chain.counts;
  return sum;
}

Chains Run::parameter(std::size_t index) const {
  Chains result(chains.size());
  for (std::size_t c = 0; c < chains.size(); ++c) {
    if (chains[c].values.size() < chains[c].draws * names.size())
      throw Error("the draws of this run were not kept in memory (Hooks::keep_draws): take them from a sink");
    result[c].resize(chains[c].draws);
    for (std::size_t d = 0; d < chains[c].draws; ++d)
      result[c][d] = chains[c].values[d * names.size() + index];
  }
  return result;
}

std::vector<ParameterSummary> Run::summary() const {
  std::vector<ParameterSummary> rows;
  rows.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) rows.push_back(summarise(names[i], parameter(i)));
  return rows;
}

double Run::least_ess() const {
  double moves = 0;
  for (const auto& chain : chains) moves += chain.acceptance * static_cast<double>(chain.sampling_steps);
  double least = moves;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double ess = ess_bulk(parameter(i));
    least = std::isnan(ess) ? 0 : std::min(least, ess);
  }
  return least;
}

std::string Run::summary_table() const { return onward::summary_table(summary()); }

double Run::steps_per_second() const {
  std::uint64_t steps = 0;
  for (const auto& chain : chains) steps += chain.sampling_steps;
  return sampling_seconds > 0 ? static_cast<double>(steps) / sampling_seconds : 0;
}

}  // namespace onward
