#include "shape.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "axis.hpp"

namespace onward::plot {
namespace {

// The distance between the quartiles of sorted values.
double quartile_distance(const std::vector<double>& sorted) {
  const auto at = [&](double p) {
    const double place = p * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
  };
  return at(0.75) - at(0.25);
}

double standard_deviation(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  double sum = 0;
  // Divided first: squares of numbers up to 1e300 would overflow.
  const double scale = std::max(std::abs(values.front() - mean), std::abs(values.back() - mean));
  if (scale == 0) return 0;
  for (const double value : values) sum += (value - mean) / scale * ((value - mean) / scale);
  return scale * std::sqrt(sum / (n - 1));
}

/// The part of a curve between the bounds, its ends upon them.
Curve within(const Curve& curve, const Bounds& bounds) {
  Curve part;
  const auto add = [&](double x, double y) {
    part.x.push_back(x);
    part.y.push_back(y);
  };
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    for (const double bound : {bounds.low, bounds.high})
      if (i > 0 && curve.x[i - 1] < bound && bound < curve.x[i]) {
        const double share = (bound - curve.x[i - 1]) / (curve.x[i] - curve.x[i - 1]);
        add(bound, std::lerp(curve.y[i - 1], curve.y[i], share));
      }
    if (curve.x[i] >= bounds.low && curve.x[i] <= bounds.high) add(curve.x[i], curve.y[i]);
  }
  return part;
}

}  // namespace

std::vector<double> sorted_shown(std::span<const double> values) {
  std::vector<double> result;
  result.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(result),
               [](double value) { return shown(value, Scale::linear); });
  std::sort(result.begin(), result.end());
  return result;
}

Bars histogram_bars(std::span<const double> values, std::size_t bins) {
  const auto sorted = sorted_shown(values);
  if (sorted.empty()) return {};
  double low = sorted.front();
  double high = sorted.back();
  if (single(low, high)) {
    const double half = half_width_of_single(low);
    low -= half;
    high += half;
    bins = 1;
  }
  if (bins == 0) {
    const double width = 2 * quartile_distance(sorted) / std::cbrt(static_cast<double>(sorted.size()));
    const double wanted = width > 0 ? std::ceil((high - low) / width) : 50;
    bins = static_cast<std::size_t>(std::clamp(wanted, 1.0, 200.0));
  }
  const double width = (high - low) / static_cast<double>(bins);
  Bars bars{std::vector<double>(bins + 1), std::vector<double>(bins, 0)};
  for (std::size_t i = 0; i <= bins; ++i) bars.edges[i] = low + static_cast<double>(i) * width;
  for (const double value : sorted) {
    const auto bin = std::min(static_cast<std::size_t>((value - low) / width), bins - 1);
    bars.heights[bin] += 1;
  }
  for (double& height : bars.heights) height /= static_cast<double>(sorted.size()) * width;
  return bars;
}

Bounds likely_bounds(std::span<const double> values) {
  const auto sorted = sorted_shown(values);
  if (sorted.empty()) return {};
  const double low = sorted.front(), high = sorted.back();
  if (low >= 0) return high <= 1 ? Bounds{0, 1} : Bounds{.low = 0};
  if (low >= -1 && high <= 1) return {-1, 1};
  return high <= 0 ? Bounds{.high = 0} : Bounds{};
}

Curve density_curve(std::span<const double> values, const Bounds& bounds) {
  const auto sorted = sorted_shown(values);
  if (sorted.size() < 2) return {};
  const double low = sorted.front();
  const double high = sorted.back();
  if (single(low, high)) return {};

  double spread = standard_deviation(sorted);
  const double quartiles = quartile_distance(sorted) / 1.349;  // the sd of a normal with these quartiles
  if (quartiles > 0) spread = std::min(spread, quartiles);
  double bandwidth = 0.9 * spread * std::pow(static_cast<double>(sorted.size()), -0.2);
  // A far outlier must not make the grid too coarse for the kernel.
  constexpr std::size_t points = 1024;
  bandwidth = std::max(bandwidth, 2 * (high - low) / points);
  // Past a bound the grid goes as far as the kernel, for the mirror images of the values near it.
  const double begin = std::max(low - 3 * bandwidth, bounds.low - 4 * bandwidth);
  const double end = std::min(high + 3 * bandwidth, bounds.high + 4 * bandwidth);
  const double step = (end - begin) / (points - 1);

  // Each value is shared between its two neighbours on the grid, then the grid is smoothed.
  std::vector<double> mass(points, 0);
  const auto add = [&](double value) {
    if (!(value >= begin && value <= end)) return;
    const double place = (value - begin) / step;
    const auto below = std::min(static_cast<std::size_t>(place), points - 2);
    const double part = place - static_cast<double>(below);
    mass[below] += 1 - part;
    mass[below + 1] += part;
  };
  for (const double value : sorted) {
    add(value);
    add(2 * bounds.low - value);  // the mirror image: far away if there is no bound
    add(2 * bounds.high - value);
  }
  const auto reach = std::min(static_cast<std::size_t>(std::ceil(4 * bandwidth / step)), points - 1);
  std::vector<double> kernel(reach + 1);
  for (std::size_t k = 0; k <= reach; ++k) {
    const double distance = static_cast<double>(k) * step / bandwidth;
    kernel[k] = std::exp(-0.5 * distance * distance);
  }
  const double total = 2 * std::accumulate(kernel.begin() + 1, kernel.end(), 0.0) + kernel[0];
  Curve curve{std::vector<double>(points), std::vector<double>(points, 0)};
  for (std::size_t i = 0; i < points; ++i) {
    curve.x[i] = begin + static_cast<double>(i) * step;
    const std::size_t from = i > reach ? i - reach : 0;
    const std::size_t to = std::min(points - 1, i + reach);
    for (std::size_t j = from; j <= to; ++j) curve.y[i] += mass[j] * kernel[i > j ? i - j : j - i];
    curve.y[i] /= total * step * static_cast<double>(sorted.size());
  }
  return within(curve, bounds);
}

Curve thinned(const Curve& curve, double low, double high, std::size_t columns) {
  const std::size_t size = curve.x.size();
  // Written so that a NaN in x, too, leaves the line alone.
  const bool rising = std::adjacent_find(curve.x.begin(), curve.x.end(),
                                         [](double a, double b) { return !(a <= b); }) == curve.x.end();
  if (size <= 4 * columns || !rising || !(low < high)) return curve;

  const auto column = [&](std::size_t i) {
    return std::floor((curve.x[i] - low) / (high - low) * static_cast<double>(columns));
  };
  Curve result;
  for (std::size_t begin = 0; begin < size;) {
    std::size_t end = begin + 1;
    while (end < size && column(end) == column(begin)) ++end;
    std::size_t lowest = size;
    std::size_t highest = size;
    std::size_t gap = begin;  // a value that cannot be shown breaks the line, so it stays
    for (std::size_t i = begin; i < end; ++i) {
      if (!shown(curve.y[i], Scale::linear)) {
        gap = i;
        continue;
      }
      if (lowest == size || curve.y[i] < curve.y[lowest]) lowest = i;
      if (highest == size || curve.y[i] > curve.y[highest]) highest = i;
    }
    std::array<std::size_t, 5> kept{begin, std::min(lowest, end - 1), std::min(highest, end - 1), gap,
                                    end - 1};
    std::sort(kept.begin(), kept.end());
    const auto unique_end = std::unique(kept.begin(), kept.end());
    for (auto i = kept.begin(); i != unique_end; ++i) {
      result.x.push_back(curve.x[*i]);
      result.y.push_back(curve.y[*i]);
    }
    begin = end;
  }
  return result;
}

}  // namespace onward::plot
