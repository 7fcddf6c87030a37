// Targets made from one generic callable: jets against finite differences, the two gradients against each
// other and against the jets.

#include "onward/target/callable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Every entry matters, in products with its neighbour, so that no derivative is a constant.
struct Chain {
  template <class T>
  T operator()(std::span<const T> t) const {
    using std::exp;
    using std::log1p;
    using std::sin;
    T sum = -0.5 * t[0] * t[0];
    for (std::size_t i = 1; i < t.size(); ++i)
      sum += sin(t[i] * t[i - 1]) - log1p(exp(0.3 * t[i])) - 0.25 * t[i] * t[i];
    return sum;
  }
};

double plain(std::span<const double> t) {
  double sum = -0.5 * t[0] * t[0];
  for (std::size_t i = 1; i < t.size(); ++i)
    sum += std::sin(t[i] * t[i - 1]) - std::log1p(std::exp(0.3 * t[i])) - 0.25 * t[i] * t[i];
  return sum;
}

std::vector<double> wave(std::size_t size, double phase) {
  std::vector<double> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = std::cos(1.7 * static_cast<double>(i) + phase);
  return x;
}

// Above and below the limit between forward and reverse gradients, and not a multiple of a register's width.
const std::vector<std::size_t> sizes{1, 2, 7, 8, 17, 40};

TEST(CallableTarget, JetsAgreeWithFiniteDifferences) {
  for (const std::size_t size : sizes) {
    auto t = target(size, Chain{});
    const auto theta = wave(size, 0.4), v = wave(size, 2.0);
    const auto along = [&](double a) {
      auto x = theta;
      for (std::size_t i = 0; i < size; ++i) x[i] += a * v[i];
      return plain(x);
    };
    // Fourth-order central differences; with h = 1e-2 both the truncation (h⁴) and the rounding (eps/h²) are
    // far below the tolerances.
    const double h = 1e-2, scale = static_cast<double>(size);
    const double slope = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h);
    const double curvature =
        (16 * (along(h) + along(-h)) - (along(2 * h) + along(-2 * h)) - 30 * along(0)) / (12 * h * h);
    const Jet jet = t.jet(theta, v, Order::curvature);
    EXPECT_NEAR(jet.value, along(0), 1e-13 * scale);
    EXPECT_NEAR(jet.slope, slope, 1e-6 * scale);
    EXPECT_NEAR(jet.curvature, curvature, 1e-6 * scale);
  }
}

TEST(CallableTarget, LowerOrdersHaveTheSameNumbersAndZerosBeyond) {
  auto t = target(7, Chain{});
  const auto theta = wave(7, 0.4), v = wave(7, 2.0);
  const Jet value = t.jet(theta, v, Order::value), slope = t.jet(theta, v, Order::slope),
            full = t.jet(theta, v, Order::curvature);
  EXPECT_EQ(value.value, full.value);
  EXPECT_EQ(slope.value, full.value);
  EXPECT_DOUBLE_EQ(slope.slope, full.slope);
  EXPECT_EQ(value.slope, 0);
  EXPECT_EQ(value.curvature, 0);
  EXPECT_EQ(slope.curvature, 0);
  EXPECT_NE(full.curvature, 0);
  EXPECT_EQ(t.jet(theta, {}, Order::value).value, full.value) << "a value needs no direction";
}

TEST(CallableTarget, ForwardAndReverseGradientsAgreeWithTheSlopes) {
  for (const std::size_t size : sizes) {
    auto t = target(size, Chain{});
    const auto theta = wave(size, 0.9);
    std::vector<double> forward(size), reverse(size), chosen(size), axis(size);
    const double value = t.jet(theta, {}, Order::value).value;
    EXPECT_DOUBLE_EQ(t.forward_gradient(theta, forward), value);
    EXPECT_DOUBLE_EQ(t.reverse_gradient(theta, reverse), value);
    EXPECT_DOUBLE_EQ(t.gradient(theta, chosen), value);
    for (std::size_t i = 0; i < size; ++i) {
      axis.assign(size, 0.0);
      axis[i] = 1;
      const double slope = t.jet(theta, axis, Order::slope).slope;
      EXPECT_NEAR(forward[i], slope, 1e-14) << "entry " << i << " of " << size;
      EXPECT_NEAR(reverse[i], slope, 1e-14) << "entry " << i << " of " << size;
      EXPECT_NEAR(chosen[i], slope, 1e-14) << "entry " << i << " of " << size;
    }
  }
}

/// The way is chosen by what an evaluation does: few parameters go forward, many over the tape, and so do few
/// if a function of vectors does the work.
TEST(CallableTarget, GradientsGoTheCheaperWay) {
  const auto goes_forward = [](auto t, std::size_t size) {
    const auto theta = wave(size, 0.9);
    std::vector<double> forward(size), reverse(size), chosen(size);
    t.forward_gradient(theta, forward);
    t.reverse_gradient(theta, reverse);
    t.gradient(theta, chosen);
    EXPECT_NE(forward, reverse) << "the ways cannot be told apart";
    return chosen == forward;
  };
  constexpr std::size_t lanes = simd::lanes_v<simd::Batch<double>>;
  EXPECT_TRUE(goes_forward(target(2 * lanes, Chain{}), 2 * lanes));
  EXPECT_FALSE(goes_forward(target(5 * lanes, Chain{}), 5 * lanes));
  const DataMatrix x(wave(300 * lanes, 0.1), lanes);
  const std::vector<double> y = wave(300, 0.7);
  const auto regression = [&](const auto& t) { return normal_lpdf(y, x * t, 0.7) + sum(t) * t[0] * t[1]; };
  EXPECT_FALSE(goes_forward(target(lanes, regression), lanes));
}

/// A chain that is resumed asks for its first gradient elsewhere.
TEST(CallableTarget, TheWayDoesNotDependOnTheFirstPlace) {
  constexpr std::size_t size = 2 * simd::lanes_v<simd::Batch<double>>;
  const auto branches = [](const auto& t) {
    auto f = Chain{}(std::span<const scalar_of<decltype(t)>>(t));
    if (t[0] > 1)  // much that only the tape does quickly
      for (int k = 0; k < 100; ++k) f += 1e-3 * sum_of_squares(t);
    return f;
  };
  auto here = target(size, branches), there = target(size, branches);
  auto far = wave(size, 0.2);
  far[0] = 2;
  const auto near = wave(size, 0.2);
  std::vector<double> a(size), b(size);
  there.gradient(far, b);
  here.gradient(near, a);
  there.gradient(near, b);
  EXPECT_EQ(a, b);
}

TEST(CallableTarget, APlaceWithoutDensityAtTheOriginDoesNotHurt) {
  auto t = target(3, [](const auto& x) {
    if (value_of(x[0]) == 0) throw std::domain_error("not here");
    return -x[0] * x[1] * x[2];
  });
  const std::vector<double> theta{1, 2, 3};
  std::vector<double> g(3);
  EXPECT_EQ(t.gradient(theta, g), -6);
  EXPECT_THAT(g, ElementsAre(-6, -3, -2));
}

TEST(CallableTarget, NamesAreKept) {
  EXPECT_THAT(target(2, Chain{}).names(), IsEmpty());
  EXPECT_THAT(target(2, Chain{}, {"a", "b"}).names(), ElementsAre("a", "b"));
}

TEST(CallableTarget, RefusesDimensionsAndNamesThatMakeNoSense) {
  try {
    target(0, Chain{});
    FAIL() << "dimension 0 was taken";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("dimension of at least 1"));
    EXPECT_THAT(e.what(), HasSubstr("0"));
  }
  try {
    target(3, Chain{}, {"a", "b"});
    FAIL() << "two names for three parameters were taken";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("dimension 3"));
    EXPECT_THAT(e.what(), HasSubstr("2 names"));
  }
}

TEST(ParametrisedTarget, SpeaksOfTheDeclaredParameters) {
  auto t = target(Parameters{}.real("mu").positive("tau").simplex("p", 3),
                  [](auto mu, auto tau, auto p) { return -mu * mu - tau + log(p[0]); });
  EXPECT_EQ(t.dimension(), 4u);
  EXPECT_THAT(t.names(), ElementsAre("mu", "tau", "p.1", "p.2", "p.3"));
  const std::vector<double> theta{0.5, 0.25, 0.0, 0.0};
  std::vector<double> out(5);
  t.constrain(theta, out);
  EXPECT_EQ(out[0], 0.5);
  EXPECT_DOUBLE_EQ(out[1], std::exp(0.25));
  for (std::size_t k = 2; k < 5; ++k) EXPECT_DOUBLE_EQ(out[k], 1.0 / 3);
}

TEST(ParametrisedTarget, AddsTheJacobian) {
  auto t = target(Parameters{}.positive("tau"), [](auto tau) { return -tau; });
  const std::vector<double> u{0.7}, v{1.0};
  const Jet jet = t.jet(u, v, Order::curvature);
  EXPECT_DOUBLE_EQ(jet.value, 0.7 - std::exp(0.7));
  EXPECT_DOUBLE_EQ(jet.slope, 1 - std::exp(0.7));
  EXPECT_DOUBLE_EQ(jet.curvature, -std::exp(0.7));
  std::vector<double> gradient(1);
  EXPECT_DOUBLE_EQ(t.gradient(u, gradient), jet.value);
  EXPECT_DOUBLE_EQ(gradient[0], jet.slope);
}

TEST(ParametrisedTarget, AFlatDensityMayReturnAPlainNumber) {
  auto flat = target(Parameters{}.real("x").interval("p", 0, 1), [](auto, auto) { return 3.0; });
  auto same = target(Parameters{}.real("x").interval("p", 0, 1), [](auto x, auto) { return 3.0 + 0.0 * x; });
  const std::vector<double> u{0.7, -0.4}, v{0.6, 0.8};
  const Jet jet = flat.jet(u, v, Order::curvature), other = same.jet(u, v, Order::curvature);
  EXPECT_DOUBLE_EQ(jet.value, other.value);
  EXPECT_DOUBLE_EQ(jet.slope, other.slope);
  EXPECT_DOUBLE_EQ(jet.curvature, other.curvature);
  std::vector<double> gradient(2), expected(2);
  EXPECT_DOUBLE_EQ(flat.reverse_gradient(u, gradient), jet.value);
  same.reverse_gradient(u, expected);
  EXPECT_EQ(gradient[0], 0);
  EXPECT_DOUBLE_EQ(gradient[1], expected[1]);
}

}  // namespace
}  // namespace onward
