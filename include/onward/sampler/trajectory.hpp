#pragma once
// Trajectories: the moves of Hamiltonian Monte Carlo, as long as they lead away from where they began (the
// No-U-Turn sampler: Hoffman and Gelman 2014, with the multinomial choice and the generalised criterion of
// Betancourt 2017), and with a step that is halved where one such step would lose the energy (WALNUTS:
// Bou-Rabee, Carpenter, Kleppe and Liu 2025). Momenta are in the metric's units, where they are standard
// normal.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "onward/direction/metric.hpp"

namespace onward {

class AnyTarget;

/// What one trajectory did.
struct TrajectoryInfo {
  std::uint32_t depth = 0;      ///< how often it doubled
  std::uint32_t leapfrogs = 0;  ///< steps of the integrator, those of attempts that were given up included
  std::uint32_t halved = 0;     ///< steps that had to be halved
  bool divergent = false;       ///< ended because the energy was lost, at the finest step allowed
  double energy = 0;            ///< of the place that was chosen, with the momentum it had there
  /// Mean over the trajectory of min(1, exp(energy at the beginning - energy)), where a place that took a
  /// halved step counts 0: a step size that warm-up finds by it is right where it is wide.
  double acceptance = 0;
};

/// What makes trajectories exact. Tests leave one of these out and see that it is missed.
struct TrajectoryRules {
  bool weigh = true;         ///< places are chosen by their energy
  bool check_halves = true;  ///< each half of a trajectory, and of each half, is to make no U-turn by itself
  bool check_way_back = true;  ///< a halved step counts only if the way back would halve it as often
};

struct TrajectorySettings {
  double step_size = 1;
  std::size_t max_depth = 10;
  std::size_t max_halvings = 0;
  double energy_error = 1;  ///< that a step may make before it is halved
  TrajectoryRules rules = {};
};

/// Where decisions along a trajectory come from; uniform numbers in (0, 1).
class TrajectoryNumbers {
 public:
  virtual ~TrajectoryNumbers() = default;
  virtual double choose(std::uint64_t index) const = 0;  ///< between places
  virtual double turn(std::uint64_t index) const = 0;    ///< forward or backward
};

/// What is known at a place of a trajectory.
struct TrajectoryPlace {
  std::vector<double> position, gradient, momentum, pulled;  ///< the last two in the metric's units
  double value = 0, energy = 0;
};

/// Memory that is kept from trajectory to trajectory.
struct TrajectoryScratch {
  struct Candidate {
    std::vector<double> position, gradient;
    double value = 0, energy = 0;
  };
  /// Of a trajectory that is made of two halves.
  struct Level {
    std::vector<double> sum_first, end_first, sum_second, begin_second;
    Candidate candidate;
  };
  TrajectoryPlace ends[2], moving, attempt;
  Candidate chosen, candidate;
  std::vector<Level> levels;
  std::vector<double> sum, new_sum, new_begin, new_end, joint, velocity, both;
};

/// One transition from `scratch.ends[0]`, whose position, value, gradient and momentum are set. The place it
/// comes to is `scratch.chosen`. Throws Stopped once `stop` is true.
TrajectoryInfo follow_trajectory(const TrajectorySettings& settings, AnyTarget& target, const Metric& metric,
                                 const TrajectoryNumbers& numbers, TrajectoryScratch& scratch,
                                 const std::atomic<bool>* stop = nullptr);

}  // namespace onward
