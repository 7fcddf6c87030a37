// Climbs: they end where draws would be, from far away, on scales that nobody told, and not in a funnel's
// neck.

#include "onward/warmup/climb.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "models/funnel.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/callable.hpp"
#include "onward/util/stopped.hpp"

namespace onward {
namespace {

std::vector<double> random_start(std::size_t dimension, std::uint64_t seed, double scale) {
  std::vector<double> x(dimension);
  Stream(seed, 0).normals(0, Purpose::start, x);
  for (double& entry : x) entry *= scale;
  return x;
}

/// A normal whose sds go from 0.01 to 100, neighbours correlated.
struct Scaled {
  static constexpr std::size_t size = 20;
  static double sd(std::size_t i) { return std::pow(10, -2 + 4 * static_cast<double>(i) / (size - 1)); }
  template <class V>
  auto operator()(const V& t) const {
    auto f = -0.5 * (t[0] / sd(0)) * (t[0] / sd(0));
    for (std::size_t i = 1; i < size; ++i) {
      const auto z = t[i] / sd(i) - 0.8 * (t[i - 1] / sd(i - 1));
      f -= 0.5 * z * z;
    }
    return f;
  }
};

TEST(Climb, OfANormalEndsAmongItsDrawsFromFarAway) {
  AnyTarget target = onward::target(Scaled::size, Scaled{});
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto start = random_start(Scaled::size, seed, 10);
    const double before = target.value(start);
    const Ascent end = climb(target, start);
    EXPECT_LT(before, -5e4) << "it began there: the test shows nothing";
    // The value of a draw is -χ²/2 with 20 degrees of freedom, -10 on average. The climb's own estimate of
    // the covariance, by which it ends, is rough.
    EXPECT_GT(end.value, -60) << seed;
    EXPECT_LT(end.gradients, 300u) << seed;
    EXPECT_EQ(end.value, target.value(end.position));
  }
}

TEST(Climb, LearnsScalesOnTheWay) {
  AnyTarget target = onward::target(Scaled::size, Scaled{});
  const Ascent end = climb(target, random_start(Scaled::size, 4, 10));
  const auto variances = end.metric.variances();
  ASSERT_EQ(variances.size(), Scaled::size);
  // The sds go over four orders of magnitude. Without the climb all would be taken for 1.
  for (std::size_t i = 0; i < Scaled::size; ++i) {
    const double ratio = std::sqrt(variances[i]) / Scaled::sd(i);
    EXPECT_GT(ratio, 1.0 / 30) << i;
    EXPECT_LT(ratio, 30) << i;
  }
}

TEST(Climb, DoesNotGoDownTheNeckOfAFunnel) {
  // The density is largest at w = 9 * 10 / 2 = 45, where the x's are 1e-10 wide: there is no mass there.
  AnyTarget target = onward::target(11, models::FunnelDensity{});
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const Ascent end = climb(target, random_start(11, seed, 1));
    EXPECT_LT(std::abs(end.position[0]), 9) << seed;  // three sds
  }
}

/// Earnings on height: a predictor about 65 that nobody scaled, and a standard deviation from e^±1.
struct Earnings {
  std::vector<double> height, earnings;
  Earnings() {
    const Stream stream(5, 0);
    for (std::uint64_t n = 0; n < 200; ++n) {
      height.push_back(66 + 4 * stream.normal(n, Purpose::noise, 0));
      earnings.push_back(1300 * (height.back() - 50) + 19'000 * stream.normal(n, Purpose::noise, 1));
    }
  }
  template <class V>
  auto operator()(const V& t) const {
    using std::exp;
    const auto inverse = exp(-2.0 * t[2]);
    auto f = -static_cast<double>(height.size()) * t[2];
    for (std::size_t n = 0; n < height.size(); ++n) {
      const auto r = earnings[n] - t[0] - t[1] * height[n];
      f -= 0.5 * r * r * inverse;
    }
    return f;
  }
};

TEST(Climb, ArrivesOnUnscaledPredictorsWithAndWithoutGradient) {
  const Earnings model;
  AnyTarget with = target(3, model);
  struct Plain {
    Earnings model;
    static std::size_t dimension() { return 3; }
    Jet jet(VectorView x, VectorView v, Order order) { return target(3, model).jet(x, v, order); }
  };
  AnyTarget without = Plain{model};
  ASSERT_FALSE(without.has_gradient());
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto start = random_start(3, seed, 1);
    const Ascent a = climb(with, start), b = climb(without, start);
    // With sigma at 19,000: -200 (log 19,000 + 1/2), about -2,070. It starts below -1e10.
    EXPECT_GT(a.value, -2150) << seed;
    EXPECT_GT(b.value, -2150) << seed;
    EXPECT_LT(a.gradients, 300u) << seed;
    EXPECT_LT(with.value(start), -1e9) << seed;
  }
}

TEST(Climb, EndsWhereItIsIfNothingLeadsUp) {
  AnyTarget flat = onward::target(3, [](const auto& t) { return 0.0 * t[0]; });
  const std::vector<double> start{1, 2, 3};
  EXPECT_EQ(climb(flat, start).position, start);
  AnyTarget edge = onward::target(1, [](const auto& t) {
    using std::log;
    return log(t[0]) - t[0];  // no density below 0
  });
  const Ascent end = climb(edge, std::vector<double>{1e-6});
  EXPECT_TRUE(std::isfinite(end.value));
  EXPECT_GT(end.position[0], 0);
}

TEST(Climb, CanBeStoppedAndHurried) {
  AnyTarget target = onward::target(Scaled::size, Scaled{});
  const auto start = random_start(Scaled::size, 1, 10);
  const std::atomic<bool> yes{true};
  EXPECT_THROW(climb(target, start, 1000, &yes), Stopped);
  const Ascent hurried = climb(target, start, 1000, nullptr, &yes);
  EXPECT_EQ(hurried.position, start);
  EXPECT_LE(climb(target, start, 5).gradients, 5u);
}

}  // namespace
}  // namespace onward
