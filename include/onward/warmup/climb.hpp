#pragma once
// How a chain gets from wherever it starts to where the mass is, before anything is learned: uphill by
// L-BFGS, as far as draws would be and no further. In the units of its covariance Σ the gradient at a draw of
// a normal in D dimensions has gᵀΣg close to D, so that is where the climb ends: the summit itself, which in
// a funnel has no mass about it, is not looked for.

#include <atomic>
#include <span>
#include <vector>

#include "onward/direction/metric.hpp"
#include "onward/target/target.hpp"

namespace onward {

/// Where a climb ended.
struct Ascent {
  std::vector<double> position, gradient;
  double value = 0;
  Metric metric;              ///< from the curvature that was met on the way
  std::size_t gradients = 0;  ///< that it took
};

/// Climbs from a place with a density. A model that offers no gradient is asked for its slopes along all
/// axes. Ends where it is, without harm, once nothing more is gained, after `most` gradients, or once `hurry`
/// is true; throws Stopped once `stop` is.
Ascent climb(AnyTarget& target, std::span<const double> from, std::size_t most = 1000,
             const std::atomic<bool>* stop = nullptr, const std::atomic<bool>* hurry = nullptr);

}  // namespace onward
