#include "onward/diagnostics/trajectories.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace onward {
namespace {

constexpr std::size_t least_draws = 10;

struct Totals {
  std::uint64_t draws = 0, divergent = 0, deepest = 0;
  double least_fraction = INFINITY;
  std::size_t low = 0;  // chains
};

Totals totals_of(const std::vector<ChainTrajectories>& chains) {
  Totals all;
  for (const ChainTrajectories& chain : chains) {
    all.draws += chain.draws;
    all.divergent += chain.divergent;
    all.deepest += chain.deepest;
    all.least_fraction = std::fmin(all.least_fraction, chain.energy_fraction);
    all.low += chain.energy_fraction < energy_fraction_limit ? 1 : 0;
  }
  return all;
}

}  // namespace

double energy_fraction(const std::vector<double>& energy) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (energy.size() < least_draws || !std::ranges::all_of(energy, [](double e) { return std::isfinite(e); }))
    return none;
  if (std::ranges::min(energy) == std::ranges::max(energy)) return none;
  double mean = 0;
  for (const double e : energy) mean += e / static_cast<double>(energy.size());
  double changes = 0, spread = 0;
  for (std::size_t i = 0; i < energy.size(); ++i) {
    spread += (energy[i] - mean) * (energy[i] - mean);
    if (i > 0) changes += (energy[i] - energy[i - 1]) * (energy[i] - energy[i - 1]);
  }
  return changes / spread;
}

std::vector<ChainTrajectories> count_trajectories(const Chains& divergent, const Chains& depth,
                                                  const Chains& leapfrogs, const Chains& energy,
                                                  double max_depth) {
  std::vector<ChainTrajectories> chains(depth.size());
  bool any = false;  // other samplers fill these columns with zeros
  for (std::size_t c = 0; c < depth.size(); ++c) {
    ChainTrajectories& chain = chains[c];
    chain.draws = depth[c].size();
    for (std::size_t d = 0; d < depth[c].size(); ++d) {
      const bool lost = c < divergent.size() && d < divergent[c].size() && divergent[c][d] > 0;
      any = any || lost || depth[c][d] > 0;
      chain.divergent += lost ? 1 : 0;
      chain.deepest += depth[c][d] >= max_depth ? 1 : 0;
      if (c < leapfrogs.size() && d < leapfrogs[c].size() && leapfrogs[c][d] > 0)
        chain.leapfrogs += static_cast<std::uint64_t>(leapfrogs[c][d]);
    }
    if (c < energy.size()) chain.energy_fraction = energy_fraction(energy[c]);
  }
  if (!any) chains.clear();
  return chains;
}

std::vector<std::string> trajectory_warnings(const std::vector<ChainTrajectories>& chains,
                                             const SettingWords& words) {
  const Totals all = totals_of(chains);
  std::vector<std::string> lines;
  if (all.divergent > 0)
    lines.push_back(fmt::format(
        "{} of {} trajectories diverged: there are places too narrow for the step size, and the draws may "
        "miss them. Write the model so that no parameter sets the scale of others (theta = mu + tau z with a "
        "standard normal z in place of theta ~ normal(mu, tau)), or try a larger {} such as 0.95.",
        all.divergent, all.draws, words.target_acceptance));
  if (all.least_fraction < energy_fraction_limit)
    lines.push_back(fmt::format(
        "The energy changes little from draw to draw (E-BFMI {:.2f}{}; it should be above {}): tails may be "
        "missed. Long tails or parameters that set the scale of others are the usual reason: write the model "
        "without them, and ask for more {}.",
        all.least_fraction, all.low > 1 ? fmt::format(", low in {} chains", all.low) : "",
        energy_fraction_limit, words.draws));
  constexpr std::uint64_t one_in = 10;
  if (all.deepest * one_in > all.draws)
    lines.push_back(fmt::format(
        "{} of {} trajectories were as long as is allowed, which makes draws dear but not wrong. Parameters "
        "of very different scales are the usual reason: bring them to one scale, or try a larger {}.",
        all.deepest, all.draws, words.max_depth));
  return lines;
}

bool trajectories_in_doubt(const std::vector<ChainTrajectories>& chains) {
  const Totals all = totals_of(chains);
  return all.divergent > 0 || all.least_fraction < energy_fraction_limit;
}

}  // namespace onward
