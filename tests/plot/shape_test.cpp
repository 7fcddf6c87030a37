// Histograms, densities and thinned lines say the same as the numbers they stand for.

#include "src/plot/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/plot/axis.hpp"

namespace onward::plot {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Values at evenly spaced probabilities of the logistic distribution: a smooth sample without randomness.
std::vector<double> logistic_values(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    values[i] = std::log(p / (1 - p));
  }
  return values;
}

double area(const Bars& bars) {
  double sum = 0;
  for (std::size_t i = 0; i < bars.heights.size(); ++i)
    sum += bars.heights[i] * (bars.edges[i + 1] - bars.edges[i]);
  return sum;
}

TEST(Histogram, CountsEveryValueOnce) {
  const std::vector<double> values{0, 0.1, 0.2, 0.9, 1, nan, infinity};
  const Bars bars = histogram_bars(values, 2);
  ASSERT_EQ(bars.heights.size(), 2U);
  EXPECT_DOUBLE_EQ(bars.edges.front(), 0);
  EXPECT_DOUBLE_EQ(bars.edges.back(), 1);
  EXPECT_DOUBLE_EQ(bars.heights[0], 3 / (5 * 0.5));
  EXPECT_DOUBLE_EQ(bars.heights[1], 2 / (5 * 0.5));
}

TEST(Histogram, AreaIsOneWhateverTheData) {
  EXPECT_NEAR(area(histogram_bars(logistic_values(5000), 0)), 1, 1e-12);
  EXPECT_NEAR(area(histogram_bars(std::vector<double>(10, 3.0), 0)), 1, 1e-12);
  EXPECT_NEAR(area(histogram_bars(std::vector<double>{-7}, 0)), 1, 1e-12);
  std::vector<double> outlier(1000, 0.0);
  outlier[5] = 1e9;
  EXPECT_NEAR(area(histogram_bars(outlier, 0)), 1, 1e-12);
  EXPECT_TRUE(histogram_bars(std::vector<double>{nan, infinity}, 0).heights.empty());
}

double area_under(const Curve& curve) {
  double sum = 0;
  for (std::size_t i = 1; i < curve.x.size(); ++i)
    sum += (curve.x[i] - curve.x[i - 1]) * (curve.y[i] + curve.y[i - 1]) / 2;
  return sum;
}

TEST(Density, DoesNotSpillPastABound) {
  std::vector<double> exponential, uniform;
  for (int i = 0; i < 20000; ++i) {
    const double p = (i + 0.5) / 20000;
    exponential.push_back(-std::log(1 - p));
    uniform.push_back(p);
  }
  const Curve falling = density_curve(exponential, likely_bounds(exponential));
  EXPECT_EQ(falling.x.front(), 0);
  EXPECT_NEAR(falling.y.front(), 1, 0.1);  // 0.5 if half of the mass at 0 had spilt
  EXPECT_NEAR(area_under(falling), 1, 1e-3);

  const Curve flat = density_curve(uniform, likely_bounds(uniform));
  EXPECT_EQ(flat.x.front(), 0);
  EXPECT_EQ(flat.x.back(), 1);
  for (const double y : flat.y) EXPECT_NEAR(y, 1, 0.01);
  EXPECT_NEAR(area_under(flat), 1, 1e-3);
}

TEST(Density, BoundsAreWhereNoValueIsPast) {
  const auto bounds = [](std::vector<double> values) {
    const Bounds b = likely_bounds(values);
    return std::pair(b.low, b.high);
  };
  EXPECT_EQ(bounds({0.2, 0.9}), std::pair(0.0, 1.0));
  EXPECT_EQ(bounds({-0.2, 0.9}), std::pair(-1.0, 1.0));
  EXPECT_EQ(bounds({0.2, 7, nan}), std::pair(0.0, infinity));
  EXPECT_EQ(bounds({-7, -0.2}), std::pair(-infinity, 0.0));
  EXPECT_EQ(bounds({-7, 0.2}), std::pair(-infinity, infinity));
  EXPECT_EQ(bounds({}), std::pair(-infinity, infinity));
}

TEST(Density, IsCloseToTheTruthAndIntegratesToOne) {
  const Curve curve = density_curve(logistic_values(20000));
  double sum = 0;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    sum += curve.y[i] * (curve.x[1] - curve.x[0]);
    const double truth = 1 / (2 + std::exp(curve.x[i]) + std::exp(-curve.x[i]));
    // The bias of the kernel: half its squared width (0.17) times the curvature of the density (at most 1/8).
    EXPECT_NEAR(curve.y[i], truth, 0.003) << curve.x[i];
  }
  EXPECT_NEAR(sum, 1, 1e-3);
}

TEST(Density, NeedsTwoDifferentValues) {
  EXPECT_TRUE(density_curve(std::vector<double>{}).x.empty());
  EXPECT_TRUE(density_curve(std::vector<double>{1, nan}).x.empty());
  EXPECT_TRUE(density_curve(std::vector<double>{2, 2, 2}).x.empty());
  EXPECT_FALSE(density_curve(std::vector<double>{1, 2}).x.empty());
}

TEST(Thinned, KeepsEverySpikeAndEveryGap) {
  Curve curve;
  for (std::size_t i = 0; i < 100000; ++i) {
    curve.x.push_back(static_cast<double>(i));
    curve.y.push_back(std::sin(static_cast<double>(i)));
  }
  curve.y[31337] = 50;
  curve.y[77777] = -60;
  curve.y[500] = nan;
  curve.y[0] = -infinity;
  const Curve thin = thinned(curve, 0, 1e5, 200);
  EXPECT_LE(thin.x.size(), 5U * 201U);
  EXPECT_TRUE(std::is_sorted(thin.x.begin(), thin.x.end()));
  const auto find = [&](double x) {
    const auto place = std::find(thin.x.begin(), thin.x.end(), x);
    return place == thin.x.end() ? 1e9 : thin.y[static_cast<std::size_t>(place - thin.x.begin())];
  };
  EXPECT_EQ(find(31337), 50);
  EXPECT_EQ(find(77777), -60);
  EXPECT_TRUE(std::isnan(find(500)));
  // The first column begins with -infinity and must still show the lowest number in it.
  const double lowest = *std::min_element(curve.y.begin() + 1, curve.y.begin() + 500);
  EXPECT_TRUE(std::any_of(thin.y.begin(), thin.y.begin() + 5, [&](double y) { return y == lowest; }));
}

TEST(Thinned, LeavesShortLinesAndLinesThatRunBackAlone) {
  const Curve small{{0, 1, 2}, {1, 2, 3}};
  EXPECT_EQ(thinned(small, 0, 2, 100).y, small.y);
  Curve back;
  for (int i = 0; i < 1000; ++i) {
    back.x.push_back(std::cos(i));
    back.y.push_back(std::sin(i));
  }
  EXPECT_EQ(thinned(back, -1, 1, 10).y, back.y);
}

}  // namespace
}  // namespace onward::plot
