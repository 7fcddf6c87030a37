// The metric: push and pull of every kind against the matrix that it stands for.

#include "onward/direction/metric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "onward/error.hpp"
#include "onward/simd/batch.hpp"

namespace onward {
namespace {

using testing::HasSubstr;

// Not inlined: GCC 12 warns of Eigen's packets once it sees that a vector is shorter than one.
[[gnu::noinline]] std::vector<double> pushed_by(const Metric& metric, std::span<const double> x) {
  std::vector<double> out(x.size());
  metric.push(x, out);
  return out;
}
[[gnu::noinline]] std::vector<double> pulled_by(const Metric& metric, std::span<const double> x) {
  std::vector<double> out(x.size());
  metric.pull(x, out);
  return out;
}

struct Case {
  Metric metric;
  Eigen::MatrixXd matrix;  // L
};

std::vector<Case> cases() {
  constexpr Eigen::Index size = 7;
  Eigen::MatrixXd lower = Eigen::MatrixXd::Random(size, size);  // of a fixed sequence
  lower.diagonal().array() += 2;
  const Eigen::VectorXd scale = Eigen::VectorXd::LinSpaced(size, 0.2, 3);
  const std::vector<double> scales(scale.begin(), scale.end());
  const Eigen::MatrixXd any = Eigen::MatrixXd::Random(size, 2);
  Eigen::MatrixXd directions(size, 2);
  directions.col(0) = any.col(0).normalized();
  directions.col(1) = (any.col(1) - directions.col(0).dot(any.col(1)) * directions.col(0)).normalized();
  const Eigen::Vector2d gains(4, -0.5);
  const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(size, size);
  return {{Metric{}, one},
          {Metric::diagonal(scales), scale.asDiagonal()},
          // what is above the diagonal must not matter
          {Metric::dense(lower), lower.triangularView<Eigen::Lower>()},
          {Metric::lowrank(scales, directions, gains),
           scale.asDiagonal() * (one + directions * gains.asDiagonal() * directions.transpose())}};
}

TEST(Metric, PushAndPullAreTheMatrixAndItsTranspose) {
  const std::vector<double> x{1, -2, 3, 0.3, 0.7, -1.1, 0};
  const Eigen::Map<const Eigen::VectorXd> vector(x.data(), 7);
  for (const auto& [metric, matrix] : cases()) {
    const Eigen::VectorXd lx = matrix * vector, ltx = matrix.transpose() * vector;
    const auto pushed = pushed_by(metric, x), pulled = pulled_by(metric, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(pushed[i], lx[static_cast<Eigen::Index>(i)], 1e-14) << to_string(metric.kind());
      EXPECT_NEAR(pulled[i], ltx[static_cast<Eigen::Index>(i)], 1e-14) << to_string(metric.kind());
    }
  }
}

TEST(Metric, VariancesAreTheDiagonalOfTheCovariance) {
  for (const auto& [metric, matrix] : cases()) {
    const auto variances = metric.variances();
    if (metric.kind() == MetricKind::none) {
      EXPECT_TRUE(variances.empty());
      continue;
    }
    ASSERT_EQ(variances.size(), 7u);
    const Eigen::MatrixXd covariance = matrix * matrix.transpose();
    for (std::size_t i = 0; i < 7; ++i) {
      const auto k = static_cast<Eigen::Index>(i);
      EXPECT_NEAR(variances[i], covariance(k, k), 1e-13) << to_string(metric.kind());
    }
  }
}

TEST(Metric, OfRegistersIsDiagonalAtMost) {
  using Batch = simd::Batch<double>;
  std::vector<Batch> in(2, Batch(1.0)), out(2);
  EXPECT_THROW(BasicMetric<Batch>::dense(Eigen::MatrixXd::Identity(2, 2)).push(in, out), Error);
  EXPECT_THROW(BasicMetric<Batch>::lowrank(in, Eigen::MatrixXd::Identity(2, 1), Eigen::VectorXd::Ones(1))
                   .pull(in, out),
               Error);
}

TEST(Metric, KnowsItsKindsByName) {
  for (const auto kind : {MetricKind::none, MetricKind::diag, MetricKind::dense, MetricKind::lowrank})
    EXPECT_EQ(metric_from_string(to_string(kind)), kind);
  try {
    metric_from_string("dens");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'dens'"));
    EXPECT_THAT(e.what(), HasSubstr("Did you mean dense?"));
  }
}

}  // namespace
}  // namespace onward
