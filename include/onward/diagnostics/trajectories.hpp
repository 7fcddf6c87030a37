#pragma once
// What trajectories (sampler/trajectory.hpp) tell of a run besides its draws: whether they lost their energy,
// were cut short, or moved too little from energy to energy. Each is a reason to look twice that R-hat and
// ESS may not see.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "onward/diagnostics/convergence.hpp"
#include "onward/diagnostics/summary.hpp"

namespace onward {

/// Below this fraction (E-BFMI) momenta that are drawn anew do not reach the tails.
inline constexpr double energy_fraction_limit = 0.3;

/// What the trajectories of one chain did, counted by draws.
struct ChainTrajectories {
  std::uint64_t draws = 0;
  std::uint64_t divergent = 0;  ///< draws whose trajectory lost its energy
  std::uint64_t deepest = 0;    ///< draws whose trajectory was as long as is allowed
  std::uint64_t leapfrogs = 0;
  double energy_fraction = std::numeric_limits<double>::quiet_NaN();  ///< not a number of too few draws

  bool operator==(const ChainTrajectories&) const = default;
};

/// How much the energy changes from draw to draw, beside how much it varies over all of them: the energy's
/// Bayesian fraction of missing information (Betancourt 2016). Not a number of fewer than 10 draws, of
/// energies that are all equal and of those that are not finite.
double energy_fraction(const std::vector<double>& energy);

/// All of a run's chains; empty if it followed no trajectories.
std::vector<ChainTrajectories> count_trajectories(const Chains& divergent, const Chains& depth,
                                                  const Chains& leapfrogs, const Chains& energy,
                                                  double max_depth);

/// What not to trust, a sentence for each problem.
std::vector<std::string> trajectory_warnings(const std::vector<ChainTrajectories>& chains,
                                             const SettingWords& words = {});
/// Whether one of them means that the draws may miss something; else they are about what the run costs.
bool trajectories_in_doubt(const std::vector<ChainTrajectories>& chains);

}  // namespace onward
