// The laws that transforms induce, by quadrature, with and without the Jacobian.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "transform_kinds.hpp"

namespace onward {
namespace {

// A law over x, carried to u with the Jacobian, must have total mass 1. The trapezoidal rule over a whole
// decaying analytic function is exact to nearly all digits.
struct Masses {
  double with_jacobian = 0;
  double without = 0;  ///< the broken twin
};

template <class Transform>
Masses integrate(const Transform& transform, const std::function<double(const Numbers&)>& log_law,
                 double from, double to, int points) {
  const std::size_t n = transform.unconstrained_size();
  const double h = (to - from) / (points - 1);
  Masses masses;
  std::vector<int> index(n, 0);
  Numbers u(n);
  for (bool done = false; !done;) {
    for (std::size_t k = 0; k < n; ++k) u[k] = from + h * index[k];
    const Image there = image(transform, u);
    const double log_density = log_law(there.x);
    masses.with_jacobian += std::exp(log_density + there.log_jacobian) * std::pow(h, static_cast<double>(n));
    masses.without += std::exp(log_density) * std::pow(h, static_cast<double>(n));
    std::size_t k = 0;
    while (k < n && ++index[k] == points) index[k++] = 0;
    done = k == n;
  }
  return masses;
}

void expect_mass_one(const Masses& masses) {
  EXPECT_NEAR(masses.with_jacobian, 1.0, 1e-9);
  EXPECT_GT(std::abs(masses.without - 1.0), 1e-2) << "this law cannot tell a missing Jacobian";
}

double log_normal(double x) { return -0.5 * x * x - 0.5 * std::log(2 * std::numbers::pi); }

TEST(TransformedLaw, GammaOverPositive) {
  expect_mass_one(integrate(
      AsVector{transform::Positive{}},
      [](const Numbers& x) { return 2 * std::log(x[0]) - x[0] - std::log(2.0); }, -20, 8, 400));
}

TEST(TransformedLaw, GammaOverLower) {
  expect_mass_one(integrate(
      AsVector{transform::Lower(3.0)},
      [](const Numbers& x) { return 2 * std::log(x[0] - 3) - (x[0] - 3) - std::log(2.0); }, -8, 8, 400));
}

TEST(TransformedLaw, GammaOverUpper) {
  expect_mass_one(integrate(
      AsVector{transform::Upper(-3.0)},
      [](const Numbers& x) { return 2 * std::log(-3 - x[0]) - (-3 - x[0]) - std::log(2.0); }, -8, 8, 400));
}

TEST(TransformedLaw, BetaOverInterval) {
  const auto log_law = [](const Numbers& x) {
    const double share = (x[0] - 2) / 3;
    return std::log(12.0) + std::log(share) + 2 * std::log1p(-share) - std::log(3.0);
  };
  expect_mass_one(integrate(AsVector{transform::Interval(2.0, 5.0)}, log_law, -16, 16, 400));
}

TEST(TransformedLaw, OrderStatisticsOverOrdered) {
  const auto log_law = [](const Numbers& x) { return std::log(2.0) + log_normal(x[0]) + log_normal(x[1]); };
  expect_mass_one(integrate(transform::Ordered(2), log_law, -26, 8, 400));
}

TEST(TransformedLaw, OrderStatisticsOverPositiveOrdered) {
  const auto log_law = [](const Numbers& x) { return std::log(2.0) - x[0] - x[1]; };
  expect_mass_one(integrate(transform::PositiveOrdered(2), log_law, -26, 8, 400));
}

TEST(TransformedLaw, DirichletOverSimplex) {
  const auto log_law = [](const Numbers& x) {
    return std::lgamma(9.0) - std::lgamma(2.0) - std::lgamma(3.0) - std::lgamma(4.0) + std::log(x[0]) +
           2 * std::log(x[1]) + 3 * std::log(x[2]);
  };
  expect_mass_one(integrate(transform::Simplex(3), log_law, -16, 16, 300));
}

TEST(TransformedLaw, UniformCorrelationsOverCholesky) {
  // The 3 x 3 correlation matrices have volume pi²/2, and L_22 is the Jacobian from L to L Lᵀ.
  const auto log_law = [](const Numbers& x) {
    return std::log(x[4]) - std::log(std::numbers::pi * std::numbers::pi / 2);
  };
  expect_mass_one(integrate(transform::CholeskyCorrelation(3), log_law, -12, 12, 76));
}

}  // namespace
}  // namespace onward
