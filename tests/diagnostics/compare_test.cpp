#include "onward/diagnostics/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace onward {
namespace {

TEST(Welch, EqualsRsTTest) {
  // R: t.test(c(27.5,21,19,23.6,17,17.9), c(27.1,22,20.8,23.4,23.4,23.5,25.8,22))
  const WelchTest test = welch_t_test(21.0, 3.965349921508, 6, 23.5, 2.072265840641, 8);
  EXPECT_NEAR(test.t, -1.406927128858, 1e-10);
  EXPECT_NEAR(test.df, 7.046874533683, 1e-10);
  EXPECT_NEAR(test.p, 0.201988677353, 1e-10);
}

TEST(Welch, EqualVariancesAndSizesGiveStudentsDegrees) {
  const WelchTest test = welch_t_test(1, 2, 10, 1, 2, 10);
  EXPECT_EQ(test.t, 0);
  EXPECT_DOUBLE_EQ(test.df, 18);
  EXPECT_DOUBLE_EQ(test.p, 1);
  const WelchTest swapped = welch_t_test(3, 1, 5, 2, 4, 9);
  const WelchTest straight = welch_t_test(2, 4, 9, 3, 1, 5);
  EXPECT_EQ(swapped.t, -straight.t);
  EXPECT_DOUBLE_EQ(swapped.p, straight.p);
}

TEST(Welch, WithoutSpread) {
  EXPECT_EQ(welch_t_test(1, 0, 5, 1, 0, 5).p, 1);
  EXPECT_EQ(welch_t_test(1, 0, 5, 2, 0, 5).p, 0);
  EXPECT_EQ(welch_t_test(1, 0, 5, 2, 0, 5).t, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(welch_t_test(1, 1, 1, 2, 1, 1).p));
}

TEST(KlNormal, ClosedForm) {
  EXPECT_EQ(kl_normal(1, 2, 1, 2), 0);
  EXPECT_DOUBLE_EQ(kl_normal(1, 1, 0, 1), 0.5);
  EXPECT_NEAR(kl_normal(0.3, 1.5, -0.2, 0.7),
              std::log(0.7 / 1.5) + (1.5 * 1.5 + 0.5 * 0.5) / (2 * 0.49) - 0.5, 1e-14);
  // Nearly equal: the leading term is (r - 1)^2.
  EXPECT_NEAR(kl_normal(0, 1 + 1e-7, 0, 1) / 1e-14, 1, 1e-2);
}

}  // namespace
}  // namespace onward
