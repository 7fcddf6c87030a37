#pragma once
// One step of each of the paper's four kernels on the 2-D Rosenbrock density, taken apart for a picture:
// where it began, what it proposed, and the densities of the proposal there and back.

#include <array>
#include <cstdint>
#include <string>

namespace onward::experiments {

using Place = std::array<double, 2>;

/// A normal proposal from a place: isotropic about its mean, or along the line through it.
struct Proposal {
  Place direction;  ///< v, along which the slope and curvature were taken
  Place mean;       ///< the place moved by the drift
  double scale;     ///< standard deviation
  bool line;        ///< along the line only
  double value;     ///< log density of the target at the place proposed from

  double log_density(const Place& to) const;
};

struct SingleStep {
  std::string sampler;
  double step_size;
  Place from, to;             ///< θ and θ*
  Proposal forward, reverse;  ///< q(·|θ) and q(·|θ*)

  double acceptance() const;  ///< of θ*
};

/// The step that the kernel takes from `from` with the random numbers of that step of chain 0 under the seed:
/// fmala, line-fmala, pc-fmala or pc-line-fmala, without a curvature floor.
SingleStep single_step(const std::string& sampler, double step_size, const Place& from, std::uint64_t seed,
                       std::uint64_t step);

/// Writes single-step.svg and .png into the folder: the four kernels from one place with the same random
/// numbers, those of the seed's first step that makes a good picture: everything in it, and apart.
void single_step_figure(const std::string& folder, std::uint64_t seed);

}  // namespace onward::experiments
