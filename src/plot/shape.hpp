#pragma once
// From many numbers to the few that are drawn: histograms, densities, and lines no finer than the page.

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace onward::plot {

/// Points that are joined by a line, or the corners of steps.
struct Curve {
  std::vector<double> x;
  std::vector<double> y;
};

/// The numbers among the values that can be shown, in rising order.
std::vector<double> sorted_shown(std::span<const double> values);

/// Edges (one more than heights) and heights of bars of equal width and of area 1 together.
/// No bars without values; one bar if all are equal. `bins` 0: the width of Freedman and Diaconis, at most
/// 200 bars.
struct Bars {
  std::vector<double> edges;
  std::vector<double> heights;
};
Bars histogram_bars(std::span<const double> values, std::size_t bins);

/// Where values cannot be.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// 0 and 1, or -1 and 1, or 0 alone, if values are on one side of them only. A distribution that ends far
/// from there does not come near enough to be drawn otherwise for it.
Bounds likely_bounds(std::span<const double> values);

/// Kernel density estimate on a grid that reaches three widths beyond the data; empty with fewer than two
/// different values. What would spill past a bound is turned back there, so that the area stays 1. Its cost
/// does not grow with the data beyond one sort.
Curve density_curve(std::span<const double> values, const Bounds& bounds = {});

/// The same line as far as a page with `columns` columns can tell: of the points in each column, the first,
/// lowest, highest and last stay. Lines that run back in x, and short ones, are returned as they are.
Curve thinned(const Curve& curve, double low, double high, std::size_t columns);

}  // namespace onward::plot
