// The scalars inside Eigen: products, dots and Cholesky solves carry slopes and curvatures.

#include <Eigen/Dense>

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

/// log N(y; 0, K(t)) for a covariance that moves with t: products, Cholesky, solve, dot and log determinant.
template <class X>
X gaussian_log_density(const X& t) {
  using std::exp, std::log;
  using Matrix = Eigen::Matrix<X, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<X, Eigen::Dynamic, 1>;
  constexpr int n = 5;
  Matrix k(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      k(i, j) = exp(t * X(-0.3 * (i - j) * (i - j))) + (i == j ? t * t + 0.1 : X(0));
  }
  Vector y(n);
  for (int i = 0; i < n; ++i) y(i) = X(0.3 * i) - t;
  const Eigen::LLT<Matrix> cholesky(k);
  X log_determinant = 0;
  for (int i = 0; i < n; ++i) log_determinant += log(cholesky.matrixL()(i, i));
  const Vector solved = cholesky.solve(y);
  return X(-0.5) * y.dot(solved) - log_determinant + (k * y).squaredNorm() * X(0.01);
}

TEST(AdEigen, CholeskyAndProducts) {
  const double at = 0.7;
  const std::function<long double(long double)> g = [&](long double h) {
    return gaussian_log_density(at + h);
  };
  const Jet2<double> jet = gaussian_log_density(Jet2<double>(at, 1, 0));
  const Dual<double> dual = gaussian_log_density(Dual<double>(at, 1));
  EXPECT_NEAR(jet.value, static_cast<double>(g(0)), 1e-13);
  EXPECT_NEAR(jet.slope / static_cast<double>(finite_difference(g, 1, 0.05L)), 1, 1e-10);
  EXPECT_NEAR(jet.curvature / static_cast<double>(finite_difference(g, 2, 0.05L)), 1, 1e-8);
  EXPECT_EQ(dual.value, jet.value);
  EXPECT_NEAR(dual.slope, jet.slope, 1e-12 * std::abs(jet.slope));
}

TEST(AdEigen, MixesWithPlainMatrices) {
  using Jet = Jet2<double>;
  const Eigen::Matrix2d a{{1, 2}, {3, 4}};
  const Eigen::Matrix<Jet, 2, 1> x(Jet(1, 1, 0), Jet(2, 0, 1));
  const Eigen::Matrix<Jet, 2, 1> y = 2.0 * (a * x) + a.col(0);
  EXPECT_EQ(y(0).value, 11);
  EXPECT_EQ(y(0).slope, 2);
  EXPECT_EQ(y(0).curvature, 4);
  EXPECT_EQ(y(1).value, 25);
  EXPECT_EQ(y(1).slope, 6);
  EXPECT_EQ(a.row(1).dot(x).slope, 3);
  EXPECT_EQ(log_sum_exp(x).value, log_sum_exp(x(0), x(1)).value);
}

/// One pass for several lines: a plain matrix beside batches, each lane as it would be alone.
TEST(AdEigen, BatchesMixWithPlainMatrices) {
  using Batch = simd::Batch<double>;
  const Eigen::Matrix2d a{{1, 2}, {3, 4}};
  const auto quadratic = [&a](const auto& x) { return x.dot(a * x) + 0.5 * (a.col(0) - x).squaredNorm(); };
  constexpr std::size_t lanes = simd::lanes_v<Batch>;
  alignas(Batch) double numbers[lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) numbers[lane] = 0.3 + 0.7 * static_cast<double>(lane);
  const Batch b = Batch::load_aligned(numbers);
  const Eigen::Matrix<Jet2<Batch>, 2, 1> x(Jet2<Batch>(b, Batch(1)), Jet2<Batch>(Batch(2), b));
  const Jet2<Batch> together = quadratic(x);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const double c = numbers[lane];
    const Eigen::Matrix<Jet2<double>, 2, 1> y(Jet2<double>(c, 1), Jet2<double>(2, c));
    const Jet2<double> alone = quadratic(y);
    EXPECT_EQ(simd::lane(together.value, lane), alone.value);
    EXPECT_EQ(simd::lane(together.slope, lane), alone.slope);
    EXPECT_EQ(simd::lane(together.curvature, lane), alone.curvature);
  }
}

TEST(AdEigen, OtherScalars) {
  Tape<double> tape;
  const Tape<double>::Active active(tape);
  const Reverse<double> t = tape.variable(0.7);
  tape.sweep(gaussian_log_density(t));
  const double slope = gaussian_log_density(Dual<double>(0.7, 1)).slope;
  EXPECT_NEAR(tape.adjoint(t), slope, 1e-12 * std::abs(slope));
  EXPECT_EQ(gaussian_log_density(Value<double>(0.7)).value, gaussian_log_density(Dual<double>(0.7, 1)).value);
  EXPECT_EQ(std::numeric_limits<Jet2<double>>::epsilon().value, std::numeric_limits<double>::epsilon());
  EXPECT_EQ(std::numeric_limits<Dual<float>>::infinity().value, std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace onward::ad_test
