#pragma once
// Where a sampler's draws lie in the funnel, and where they should: one panel a sampler, draws as dots over
// the contours of the true density of (x_1, w).

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace onward::experiments {

/// A sampler's draws at one step size.
struct FunnelDraws {
  std::string sampler;
  double step_size;
  std::vector<std::pair<double, double>> points;  ///< (x_1, w); about 2,000 of them are drawn, evenly thinned
};

/// The closed line of equal density of (x_1, w) within which this share of the probability lies, 0 < share <
/// 1. It is the same for any number of x's.
std::vector<std::pair<double, double>> funnel_contour(double share);

/// Writes draws-D<dim>.svg and .png into the folder, with up to three panels in a row.
void funnel_draws_figure(std::size_t dim, const std::vector<FunnelDraws>& samplers,
                         const std::string& folder);

}  // namespace onward::experiments
