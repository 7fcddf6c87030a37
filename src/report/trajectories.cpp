// What trajectories did: figures, energies, and which draws are marked as divergent.

#include <algorithm>
#include <cmath>

#include "onward/io/run_json.hpp"
#include "parts.hpp"

namespace onward::report {

using nlohmann::ordered_json;

namespace {

bool all_finite(const Chains& chains) {
  return std::ranges::all_of(chains, [](const auto& chain) {
    return std::ranges::all_of(chain, [](double x) { return std::isfinite(x); });
  });
}

}  // namespace

ordered_json trajectories_json(const Input& input) {
  ordered_json json = onward::trajectories_json(input.trajectories);
  json["draws"] = ordered_json::array();
  for (const ChainTrajectories& chain : input.trajectories) json["draws"].push_back(chain.draws);
  if (input.energy.empty() || !all_finite(input.energy)) return json;
  // Pooled: chains that are apart are seen elsewhere.
  std::vector<double> energies, changes;
  for (const auto& chain : input.energy)
    for (std::size_t d = 0; d < chain.size(); ++d) {
      energies.push_back(chain[d]);
      if (d > 0) changes.push_back(chain[d] - chain[d - 1]);
    }
  double mean = 0;
  for (const double e : energies) mean += e / static_cast<double>(energies.size());
  for (double& e : energies) e -= mean;
  constexpr std::size_t points = 128;
  if (changes.empty()) return json;
  json["energy"] = densities({energies}, points);
  json["change"] = densities({changes}, points);
  return json;
}

std::vector<std::pair<std::size_t, std::size_t>> divergent_draws(const Input& input, std::size_t most) {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t c = 0; c < input.diverging.size(); ++c)
    for (std::size_t d = 0; d < std::min(input.diverging[c].size(), input.draws); ++d)
      if (input.diverging[c][d] > 0) all.emplace_back(c, d);
  if (all.size() <= most) return all;
  std::vector<std::pair<std::size_t, std::size_t>> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

}  // namespace onward::report
