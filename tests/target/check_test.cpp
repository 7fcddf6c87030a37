// Derivatives that are not those of the value are found and named; right ones, however stiff or noisy, are
// not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/scratch.hpp"
#include "models/funnel.hpp"
#include "onward/target/callable.hpp"
#include "onward/target/check.hpp"

namespace onward::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A density whose derivatives are wrong in ways that a test chooses.
struct Crooked {
  std::vector<double> weights{1, 4, 9};
  double slope_factor = 1, gradient_factor = 1, curvature_factor = 1;
  std::size_t dimension() const { return 3; }
  std::vector<std::string> names() const { return {"growth", "decay", "shift"}; }
  Jet jet(VectorView x, VectorView v, Order order) {
    Jet jet;
    for (std::size_t i = 0; i < 3; ++i) {
      jet.value -= 0.5 * weights[i] * x[i] * x[i];
      if (order == Order::value) continue;
      jet.slope -= weights[i] * x[i] * v[i] * (i == 1 ? slope_factor : 1);
      jet.curvature -= weights[i] * v[i] * v[i] * curvature_factor;
    }
    return jet;
  }
  double gradient(VectorView x, std::span<double> out) {
    for (std::size_t i = 0; i < 3; ++i) out[i] = -weights[i] * x[i] * (i == 2 ? gradient_factor : 1);
    return jet(x, {}, Order::value).value;
  }
};

const std::vector<double> place{0.7, -0.4, 0.9};

TEST(CheckDerivatives, RightOnesPass) {
  EXPECT_THAT(check_derivatives(Crooked{}, place, {.curvature = true}), IsEmpty());
  EXPECT_THAT(check_derivatives(target(3, models::FunnelDensity{}), std::vector<double>{9, 0.02, -0.01},
                                {.curvature = true}),
              IsEmpty());
  const auto stiff =
      target(2, [](const auto& t) { return -1e8 * (t[0] - t[1]) * (t[0] - t[1]) - t[0] * t[0]; });
  EXPECT_THAT(check_derivatives(stiff, std::vector<double>{1, 1.0001}, {.curvature = true}), IsEmpty());
  const auto large = target(1, [](const auto& t) { return -0.5 * (t[0] / 1e6) * (t[0] / 1e6); });
  EXPECT_THAT(check_derivatives(large, std::vector<double>{3e6}, {.curvature = true}), IsEmpty());
}

/// A solver's tolerance is no wrong slope.
TEST(CheckDerivatives, NoisyValuesPass) {
  struct Noisy {
    std::size_t dimension() const { return 1; }
    Jet jet(VectorView x, VectorView v, Order order) const {
      const double noise = 1e-6 * std::sin(1e9 * x[0]);
      return {-50 * x[0] * x[0] * (1 + noise), order == Order::value ? 0 : -100 * x[0] * v[0], 0};
    }
  };
  EXPECT_THAT(check_derivatives(Noisy{}, std::vector<double>{0.8}), IsEmpty());
}

TEST(CheckDerivatives, AWrongSlopeIsNamed) {
  Crooked wrong;
  wrong.slope_factor = 1.05;
  const auto said = check_derivatives(wrong, place);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("slope along decay is 1.68, but differences of its values give 1.6:"));
}

TEST(CheckDerivatives, AWrongGradientIsNamed) {
  Crooked wrong;
  wrong.gradient_factor = -1;
  const auto said = check_derivatives(wrong, place);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("gradient along shift is 8.1, but differences of its values give -8.1:"));
}

TEST(CheckDerivatives, AWrongCurvatureIsNamedWhereItIsAskedFor) {
  Crooked wrong;
  wrong.curvature_factor = 0.5;
  EXPECT_THAT(check_derivatives(wrong, place), IsEmpty());
  const auto said = check_derivatives(wrong, place, {.curvature = true});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("differences of its slopes give"));
}

TEST(CheckDerivatives, NothingIsSaidWhereThereIsNoDensity) {
  const auto box = target(1, [](const auto& t) {
    using T = scalar_of<decltype(t)>;
    return abs(t[0]) < 1 ? T(0) : T(-INFINITY);
  });
  EXPECT_THAT(check_derivatives(box, std::vector<double>{2}), IsEmpty());
  EXPECT_THAT(error_of([&] {
                check_derivatives(box, std::vector<double>{2, 3});
              }),
              HasSubstr("the `place` has 2 numbers, and the target has 1 parameters"));
}

}  // namespace
}  // namespace onward::testing
