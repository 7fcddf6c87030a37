// Every transform by the same checks: its Jacobian against a numerical determinant, its way back, its bounds
// far out, its refusals.

#include "onward/target/transform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "onward/error.hpp"
#include "transform_kinds.hpp"

namespace onward {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// By elimination with row exchanges.
double log_abs_determinant(std::vector<Numbers> a) {
  double result = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    std::swap(a[k], a[pivot]);
    result += std::log(std::abs(a[k][k]));
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < a.size(); ++j) a[i][j] -= factor * a[k][j];
    }
  }
  return result;
}

TEST(Transform, JacobianIsTheNumericalDeterminant) {
  std::mt19937 generator(1);
  for_each_kind([&](const auto& transform) {
    const auto n = transform.unconstrained_size();
    const auto chart = coordinates(transform);
    ASSERT_EQ(chart.size(), n);
    for (int repeat = 0; repeat < 10; ++repeat) {
      const Numbers u = repeat == 0 ? Numbers(n, 0.0) : random_numbers(n, 1.0, generator);
      std::vector<Numbers> jacobian(n, Numbers(n));
      for (std::size_t column = 0; column < n; ++column) {
        // Five-point differences: error about 1e-12 at this step.
        const double h = 2e-3;
        const auto at = [&](double shift) {
          Numbers moved = u;
          moved[column] += shift;
          return image(transform, moved).x;
        };
        const Numbers a = at(-2 * h), b = at(-h), c = at(h), d = at(2 * h);
        for (std::size_t row = 0; row < n; ++row) {
          const std::size_t k = chart[row];
          jacobian[row][column] = ((a[k] - d[k]) + 8 * (c[k] - b[k])) / (12 * h);
        }
      }
      const double expected = log_abs_determinant(jacobian);
      EXPECT_NEAR(image(transform, u).log_jacobian, expected, 1e-8);
    }
  });
}

TEST(Transform, LogJacobianIsAddedToWhatIsThere) {
  for_each_kind([](const auto& transform) {
    const Numbers u(transform.unconstrained_size(), 0.4);
    Numbers x(transform.size());
    double sum = 10.0;
    transform.constrain(std::span<const double>(u), std::span<double>(x), sum);
    EXPECT_NEAR(sum, 10.0 + image(transform, u).log_jacobian, 1e-13);
  });
}

TEST(Transform, ThereAndBack) {
  std::mt19937 generator(2);
  for_each_kind([&](const auto& transform) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Numbers u = random_numbers(transform.unconstrained_size(), 1.5, generator);
      Numbers back(u.size());
      transform.unconstrain(image(transform, u).x, back, "x");
      for (std::size_t k = 0; k < u.size(); ++k) EXPECT_NEAR(back[k], u[k], 1e-10);
    }
  });
}

TEST(Transform, SmallPartsOfSimplexAndCholeskyKeepTheirDigits) {
  // One minus a sum would have lost these: the smallest entries are near 1e-18.
  const transform::Simplex simplex(3);
  const Numbers u{40.0, 1.0};
  Numbers back(2);
  simplex.unconstrain(image(simplex, u).x, back, "w");
  EXPECT_NEAR(back[0], 40.0, 1e-12);
  EXPECT_NEAR(back[1], 1.0, 1e-12);

  const transform::CholeskyCorrelation cholesky(3);
  const Numbers v{-20.0, 21.0, 0.5};
  Numbers back_v(3);
  cholesky.unconstrain(image(cholesky, v).x, back_v, "L");
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(back_v[k], v[k], 1e-12);
}

/// Checks that x is what its kind promises; bounds may be reached by rounding, never passed.
template <class Transform>
void expect_within_bounds(const Transform& transform, const Numbers& x) {
  for (double number : x) ASSERT_FALSE(std::isnan(number));
  if constexpr (std::is_same_v<Transform, AsVector<transform::Positive>>) {
    EXPECT_GT(x[0], 0.0);
  } else if constexpr (std::is_same_v<Transform, AsVector<transform::Lower>>) {
    EXPECT_GE(x[0], -1.5);
  } else if constexpr (std::is_same_v<Transform, AsVector<transform::Upper>>) {
    EXPECT_LE(x[0], 2.5);
  } else if constexpr (std::is_same_v<Transform, AsVector<transform::Interval>>) {
    EXPECT_GE(x[0], -0.3);
    EXPECT_LE(x[0], 4.1);
  } else if constexpr (std::is_same_v<Transform, transform::Ordered> ||
                       std::is_same_v<Transform, transform::PositiveOrdered>) {
    for (std::size_t k = 1; k < x.size(); ++k) EXPECT_GE(x[k], x[k - 1]);
    if (std::is_same_v<Transform, transform::PositiveOrdered>) {
      EXPECT_GT(x[0], 0.0);
    }
  } else if constexpr (std::is_same_v<Transform, transform::Simplex>) {
    double sum = 0;
    for (double number : x) {
      EXPECT_GE(number, 0.0);
      sum += number;
    }
    EXPECT_NEAR(sum, 1.0, 1e-14);
  } else if constexpr (std::is_same_v<Transform, transform::CholeskyCorrelation>) {
    const std::size_t rows = transform.rows();
    for (std::size_t i = 0; i < rows; ++i) {
      EXPECT_GE(x[i + i * rows], 0.0);
      double squares = 0;
      for (std::size_t j = 0; j < rows; ++j) {
        squares += x[i + j * rows] * x[i + j * rows];
        if (j > i) {
          EXPECT_EQ(x[i + j * rows], 0.0);
        }
      }
      EXPECT_NEAR(squares, 1.0, 1e-14);
    }
  }
}

TEST(Transform, BoundsHoldFarOut) {
  std::mt19937 generator(3);
  const Numbers far{-700.0, -50.0, 0.0, 50.0, 700.0};
  std::uniform_int_distribution<std::size_t> pick(0, far.size() - 1);
  for_each_kind([&](const auto& transform) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      Numbers u(transform.unconstrained_size());
      for (double& number : u) number = far[pick(generator)];
      const Image there = image(transform, u);
      expect_within_bounds(transform, there.x);
      EXPECT_TRUE(std::isfinite(there.log_jacobian));
    }
  });
}

TEST(Transform, LogJacobianFarOutIsItsAsymptote) {
  const auto scalar = [](const auto& transform, double u) {
    return image(AsVector{transform}, {u}).log_jacobian;
  };
  for (double u : {-700.0, -50.0, 50.0, 700.0}) {
    EXPECT_DOUBLE_EQ(scalar(transform::Positive{}, u), u);
    EXPECT_DOUBLE_EQ(scalar(transform::Interval(2.0, 5.0), u), std::log(3.0) - std::abs(u));
    EXPECT_DOUBLE_EQ(image(transform::Simplex(2), {u}).log_jacobian, -std::abs(u));
    EXPECT_DOUBLE_EQ(image(transform::CholeskyCorrelation(2), {u}).log_jacobian,
                     2 * std::log(2.0) - 2 * std::abs(u));
  }
}

TEST(Transform, IntervalNeverRoundsPastItsBounds) {
  std::mt19937 generator(4);
  std::normal_distribution<double> normal;
  int awkward = 0;  // bounds where lower + (upper - lower) would be above upper
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const double a = normal(generator), b = normal(generator) * 10;
    const double lower = std::min(a, b), upper = std::max(a, b);
    awkward += lower + (upper - lower) > upper;
    const transform::Interval interval(lower, upper);
    for (double u : {-800.0, -36.0, 36.0, 800.0}) {
      const double x = image(AsVector{interval}, {u}).x[0];
      EXPECT_GE(x, lower);
      EXPECT_LE(x, upper);
    }
  }
  EXPECT_GT(awkward, 10);  // else the test would show nothing
}

TEST(Transform, ZeroIsTheUniformSimplexAndTheUncorrelatedFactor) {
  for (double share : image(transform::Simplex(7), Numbers(6, 0.0)).x) EXPECT_NEAR(share, 1.0 / 7.0, 1e-15);
  const Numbers factor = image(transform::CholeskyCorrelation(3), Numbers(3, 0.0)).x;
  const Numbers identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(factor[k], identity[k], 1e-15);
}

TEST(Transform, RefusesBounds) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT([&] { transform::Interval(3, 3, "p"); },
              ThrowsMessage<UsageError>(HasSubstr("p: lower bound 3")));
  EXPECT_THAT([&] { transform::Interval(4, 3, "p"); }, ThrowsMessage<UsageError>(HasSubstr("upper bound 3")));
  EXPECT_THAT([&] { transform::Interval(0, inf, "p"); }, ThrowsMessage<UsageError>(HasSubstr("bound inf")));
  EXPECT_THAT([&] { transform::Interval(-1e308, 1e308, "p"); },
              ThrowsMessage<UsageError>(HasSubstr("too far")));
  EXPECT_THAT([&] { transform::Lower(std::nan(""), "a"); },
              ThrowsMessage<UsageError>(HasSubstr("a: lower bound nan")));
  EXPECT_THAT([&] { transform::Upper(-inf, "b"); },
              ThrowsMessage<UsageError>(HasSubstr("b: upper bound -inf")));
}

/// What the way back says of x.
template <class Transform>
auto back(const Transform& transform, Numbers x) {
  return [=] {
    Numbers u(transform.unconstrained_size());
    transform.unconstrain(x, u, "x");
  };
}

TEST(Transform, WayBackRefusesValuesOutsideWithNameValueAndRange) {
  const double nan = std::nan("");
  const auto says = [](const std::string& text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  EXPECT_THAT(back(AsVector{transform::Real{}}, {nan}), says("x = nan: must be a finite number"));
  EXPECT_THAT(back(AsVector{transform::Positive{}}, {0}), says("x = 0: must be positive"));
  EXPECT_THAT(back(AsVector{transform::Positive{}}, {nan}), says("x = nan: must be positive"));
  EXPECT_THAT(back(AsVector{transform::Lower(2)}, {2}), says("x = 2: must be greater than 2"));
  EXPECT_THAT(back(AsVector{transform::Upper(2)}, {3}), says("x = 3: must be less than 2"));
  EXPECT_THAT(back(AsVector{transform::Interval(0, 1)}, {1.5}),
              says("x = 1.5: must be strictly between 0 and 1"));
  EXPECT_THAT(back(AsVector{transform::Interval(0, 1)}, {nan}), says("x = nan"));
  EXPECT_THAT(back(transform::Ordered(3), {1, 3, 3}), says("x.3 = 3: must be greater than x.2 = 3"));
  EXPECT_THAT(back(transform::Ordered(2), {nan, 3}), says("x.1 = nan"));
  EXPECT_THAT(back(transform::PositiveOrdered(2), {-1, 3}), says("x.1 = -1: must be positive"));
  EXPECT_THAT(back(transform::PositiveOrdered(2), {2, 1}),
              says("x.2 = 1: must be finite and greater than x.1 = 2"));
  EXPECT_THAT(back(transform::Simplex(3), {0.5, 0.5, 0}), says("x.3 = 0: must be positive"));
  EXPECT_THAT(back(transform::Simplex(3), {0.5, 0.5, 0.5}), says("x sums to 1.5"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {1, 0.6, 0.1, 0.8}), says("x.1.2 = 0.1: must be 0"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {1, 0.6, 0, -0.8}),
              says("x.2.2 = -0.8: must be positive"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {1, 0.6, 0, 1}), says("row 2 of x has length 1.16"));
  EXPECT_THAT(back(transform::CholeskyCorrelation(2), {nan, 0.6, 0, 1}), says("x.1.1 = nan"));
}

}  // namespace
}  // namespace onward
