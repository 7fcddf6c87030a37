// What can be asked of a run that is over.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/printable.hpp"

namespace onward {

void TrajectoryRecord::add(const TrajectoryInfo& draw, std::uint32_t max_depth) {
  ++draws;
  divergent += draw.divergent ? 1 : 0;
  deepest += draw.depth >= max_depth ? 1 : 0;
  leapfrogs += draw.leapfrogs;
  if (draws > 1) changes_ += (draw.energy - last_) * (draw.energy - last_);
  last_ = draw.energy;
  const double difference = draw.energy - mean_;
  mean_ += difference / static_cast<double>(draws);
  squares_ += difference * (draw.energy - mean_);
}

double TrajectoryRecord::energy_fraction() const { return squares_ > 0 ? changes_ / squares_ : 1; }

ChainTrajectories TrajectoryRecord::counted() const {
  constexpr std::uint64_t least_for_energy = 10;
  ChainTrajectories chain{draws, divergent, deepest, leapfrogs};
  if (draws >= least_for_energy && squares_ > 0) chain.energy_fraction = energy_fraction();
  return chain;
}

void TrajectoryRecord::transfer(Archive& archive) {
  archive(draws, divergent, deepest, leapfrogs, last_, mean_, squares_, changes_);
}

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
  return summarise_all(
      names,
      [this](std::size_t i) {
        Chains drawn = parameter(i);
        std::erase_if(drawn, [](const auto& chain) { return chain.empty(); });
        return drawn;
      },
      settings.threads);
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

namespace {

/// Chains with draws, and the least and most draws of one of them.
struct Drawn {
  std::size_t chains = 0, least = 0, most = 0;
};

Drawn drawn(const Run& run) {
  Drawn result;
  for (const auto& chain : run.chains) {
    if (chain.draws == 0) continue;
    result.least = ++result.chains == 1 ? chain.draws : std::min(result.least, chain.draws);
    result.most = std::max(result.most, chain.draws);
  }
  return result;
}

std::vector<std::string> warnings_of(const Run& run, const std::vector<ParameterSummary>& rows) {
  const Drawn of = drawn(run);
  if (of.chains == 0) return {"There are no draws."};
  // A dense metric of more dimensions costs more than it brings.
  constexpr std::size_t most_for_dense = 1000;
  const bool dense_may_help = find_sampler(run.settings.sampler).kernel && run.dimension <= most_for_dense &&
                              run.settings.metric != MetricKind::dense;
  std::vector<std::string> lines = warnings(rows, of.chains, of.least, dense_may_help);
  for (auto& line : trajectory_warnings(run.trajectories())) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

std::vector<std::string> Run::warnings() const { return warnings_of(*this, summary()); }

std::vector<std::string> Run::notes() const {
  std::vector<std::string> lines;
  const Drawn of = drawn(*this);
  if (const Counts all = counts(); all.nonfinite > 0)
    lines.push_back(fmt::format(
        "{} of {} evaluations were not finite{}; each was a rejection", all.nonfinite,
        all.jets() + all.gradients,
        all.threw > 0 ? fmt::format(", {} because the model said so ({})", all.threw, all.first_message)
                      : std::string()));
  const auto joined = std::ranges::count_if(chains, &ChainRecord::joined);
  if (joined > 0)
    lines.push_back(
        fmt::format("{} of {} chains lagged behind the others in warm-up, in a place with hardly "
                    "any mass, and went on from where another was",
                    joined, chains.size()));
  if (of.chains > 0 && of.chains < chains.size())
    lines.push_back(fmt::format("{} of {} chains have no draws and are left out", chains.size() - of.chains,
                                chains.size()));
  if (of.least < of.most)
    lines.push_back(fmt::format("chains have {} to {} draws; the first {} of each are used", of.least,
                                of.most, of.least));
  return lines;
}

std::string Run::report() const {
  const auto rows = summary();
  std::string text = onward::summary_table(rows);
  for (const auto& note : notes()) text += "note: " + printable(note) + "\n";
  if (ending != Ending::complete)
    text += fmt::format("note: the run was {} after {} draws a chain\n",
                        ending == Ending::interrupted
                            ? std::string("interrupted")
                            : fmt::format("stopped at max_seconds = {}", settings.max_seconds),
                        drawn(*this).least);
  for (const auto& warning : warnings_of(*this, rows)) text += "warning: " + printable(warning) + "\n";
  return text;
}

double Run::steps_per_second() const {
  std::uint64_t steps = 0;
  for (const auto& chain : chains) steps += chain.sampling_steps;
  return sampling_seconds > 0 ? static_cast<double>(steps) / sampling_seconds : 0;
}

std::vector<ChainTrajectories> Run::trajectories() const {
  std::vector<ChainTrajectories> result;
  for (const auto& chain : chains)
    if (chain.trajectories.draws > 0) result.push_back(chain.trajectories.counted());
  return result;
}

}  // namespace onward
