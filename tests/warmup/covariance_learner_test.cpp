// Learning scales: diagonal, dense and low-rank metrics from places and gradients, against formulas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <vector>

#include "onward/error.hpp"
#include "onward/random/stream.hpp"
#include "onward/warmup/warmup.hpp"

namespace onward {
namespace {

using testing::HasSubstr;

std::vector<std::vector<double>> places(std::size_t count, std::size_t dimension) {
  const Stream stream(11, 0);
  std::vector<std::vector<double>> result(count, std::vector<double>(dimension));
  for (std::size_t n = 0; n < count; ++n) {
    stream.normals(n, Purpose::noise, result[n]);
    for (std::size_t i = 0; i < dimension; ++i) {
      // far from zero, so that an update that cancels shows; neighbours correlated
      if (i > 0) result[n][i] += 0.8 * result[n][i - 1];
      result[n][i] += 1000;
    }
  }
  return result;
}

/// Sample covariance as the textbook has it, shrunk as Stan does.
Eigen::MatrixXd direct(const std::vector<std::vector<double>>& x) {
  const auto n = static_cast<double>(x.size());
  const auto size = static_cast<Eigen::Index>(x[0].size());
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(size);
  for (const auto& row : x) mean += Eigen::Map<const Eigen::VectorXd>(row.data(), size) / n;
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(size, size);
  for (const auto& row : x) {
    const Eigen::VectorXd d = Eigen::Map<const Eigen::VectorXd>(row.data(), size) - mean;
    covariance += d * d.transpose() / (n - 1);
  }
  covariance *= n / (n + 5);
  covariance.diagonal().array() += 1e-3 * 5 / (n + 5);
  return covariance;
}

TEST(CovarianceLearner, DiagIsTheShrunkStandardDeviation) {
  for (const std::size_t count : {2, 10, 200}) {
    const auto x = places(count, 4);
    CovarianceLearner learner(MetricKind::diag, 4);
    for (const auto& row : x) learner.add(row);
    EXPECT_EQ(learner.count(), count);
    const Metric metric = learner.metric();
    ASSERT_EQ(metric.kind(), MetricKind::diag);
    const Eigen::MatrixXd expected = direct(x);
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(metric.scale()[static_cast<std::size_t>(i)], std::sqrt(expected(i, i)), 1e-9);
  }
}

TEST(CovarianceLearner, DenseIsTheCholeskyFactorOfTheShrunkCovariance) {
  for (const std::size_t count : {8, 10, 200}) {
    const auto x = places(count, 4);
    CovarianceLearner learner(MetricKind::dense, 4);
    for (const auto& row : x) learner.add(row);
    const Metric metric = learner.metric();
    ASSERT_EQ(metric.kind(), MetricKind::dense);
    const Eigen::MatrixXd expected = direct(x);
    EXPECT_LT((metric.lower() * metric.lower().transpose() - expected).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_TRUE(metric.lower().isLowerTriangular());
    EXPECT_TRUE((metric.lower().diagonal().array() > 0).all());
  }
}

TEST(CovarianceLearner, DenseFromFewPlacesIsDiag) {
  const auto x = places(7, 4);
  CovarianceLearner dense(MetricKind::dense, 4), diag(MetricKind::diag, 4);
  for (const auto& row : x) {
    dense.add(row);
    diag.add(row);
  }
  EXPECT_EQ(dense.metric().kind(), MetricKind::diag);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(dense.metric().scale()[i], diag.metric().scale()[i], 1e-9);
  dense.add(x[0]);
  EXPECT_EQ(dense.metric().kind(), MetricKind::dense);
}

/// A walk that has seen a small part of a normal, far from its mean, and the gradients there.
struct SlowWalk {
  Eigen::MatrixXd covariance;
  std::vector<std::vector<double>> places, gradients;

  SlowWalk(std::size_t dimension, std::size_t count) {
    const auto size = static_cast<Eigen::Index>(dimension);
    const Eigen::MatrixXd a = Eigen::MatrixXd::Random(size, size);  // of a fixed sequence
    covariance = a * a.transpose() + 0.1 * Eigen::MatrixXd::Identity(size, size);
    const Eigen::MatrixXd precision = covariance.inverse();
    const Stream stream(3, 0);
    Eigen::VectorXd x = Eigen::VectorXd::Constant(size, 5);
    std::vector<double> z(dimension);
    for (std::size_t n = 0; n < count; ++n) {
      stream.normals(n, Purpose::noise, z);
      x += 0.01 * Eigen::Map<const Eigen::VectorXd>(z.data(), size);
      const Eigen::VectorXd g = -precision * x;
      places.emplace_back(x.begin(), x.end());
      gradients.emplace_back(g.begin(), g.end());
    }
  }
};

TEST(CovarianceLearner, DenseFromPlacesAndGradientsIsTheCovarianceOfANormalHoweverLittleWasSeen) {
  for (const std::size_t dimension : {1, 5, 20}) {
    const SlowWalk walk(dimension, 2 * dimension + 2);
    CovarianceLearner with(MetricKind::dense, dimension), without(MetricKind::dense, dimension);
    for (std::size_t n = 0; n < walk.places.size(); ++n) {
      with.add(walk.places[n], walk.gradients[n]);
      without.add(walk.places[n]);
    }
    const auto error = [&](const CovarianceLearner& learner) {
      const Eigen::MatrixXd lower = learner.metric().lower();
      return (lower * lower.transpose() - walk.covariance).norm() / walk.covariance.norm();
    };
    ASSERT_EQ(with.metric().kind(), MetricKind::dense);
    EXPECT_LT(error(with), 1e-6) << dimension;
    EXPECT_TRUE(with.metric().lower().isLowerTriangular());
    EXPECT_GT(error(without), 0.5) << "the places alone would have done: the test shows nothing";
  }
}

TEST(CovarianceLearner, DiagFromPlacesAndGradientsIsTheScaleOfANormalHoweverLittleWasSeen) {
  CovarianceLearner learner(MetricKind::diag, 2);
  const Stream stream(3, 0);
  std::vector<double> x{50, 3}, z(2);
  for (std::uint64_t n = 0; n < 5; ++n) {
    stream.normals(n, Purpose::noise, z);
    for (std::size_t i = 0; i < 2; ++i) x[i] += 0.01 * z[i];
    learner.add(x, std::vector<double>{-x[0] / 100, -x[1] / 0.25});
  }
  EXPECT_NEAR(learner.metric().scale()[0], 10, 1e-6);
  EXPECT_NEAR(learner.metric().scale()[1], 0.5, 1e-6);
}

/// With gradients for some places only, the places alone.
TEST(CovarianceLearner, LeavesGradientsThatAreNotFiniteOut) {
  for (const auto kind : {MetricKind::diag, MetricKind::dense, MetricKind::lowrank}) {
    const SlowWalk walk(3, 40);
    CovarianceLearner learner(kind, 3), without(kind, 3);
    for (std::size_t n = 0; n < walk.places.size(); ++n) {
      auto gradient = walk.gradients[n];
      if (n == 20) gradient[1] = std::numeric_limits<double>::quiet_NaN();
      if (n == 30) gradient[2] = std::numeric_limits<double>::infinity();
      learner.add(walk.places[n], gradient);
      without.add(walk.places[n]);
    }
    EXPECT_EQ(learner.count(), 40u);
    const auto variances = learner.metric().variances();
    for (const double variance : variances) EXPECT_TRUE(variance > 0 && std::isfinite(variance));
    EXPECT_EQ(variances, without.metric().variances()) << to_string(kind);
  }
}

/// Fewer places than dimensions, and yet wide and narrow directions are found: wide ones by the places,
/// narrow ones by the gradients.
TEST(CovarianceLearner, FromFewPlacesAndGradientsFindsWideAndNarrowDirections) {
  constexpr Eigen::Index size = 60;
  constexpr std::size_t count = 25;
  // As wide as 1 but for two directions; each parameter has a scale of its own besides.
  Eigen::MatrixXd turn = Eigen::MatrixXd::Identity(size, size);
  Eigen::VectorXd wide = Eigen::VectorXd::Ones(size).normalized(), narrow(size);
  for (Eigen::Index i = 0; i < size; ++i) narrow[i] = i % 2 == 0 ? 1 : -1;
  narrow.normalize();
  turn += 19 * wide * wide.transpose() - 0.95 * narrow * narrow.transpose();
  Eigen::VectorXd scale(size);
  for (Eigen::Index i = 0; i < size; ++i) scale[i] = std::pow(10.0, static_cast<double>(i % 5) - 2);
  const Eigen::MatrixXd root = scale.asDiagonal() * turn;
  const Eigen::MatrixXd covariance = root * root.transpose(), precision = covariance.inverse();

  const auto condition = [&](MetricKind kind) {
    CovarianceLearner learner(kind, size);
    const Stream stream(7, 0);
    std::vector<double> z(size);
    for (std::size_t n = 0; n < count; ++n) {
      stream.normals(n, Purpose::noise, z);
      const Eigen::VectorXd x = root * Eigen::Map<const Eigen::VectorXd>(z.data(), size);
      const Eigen::VectorXd g = -precision * x;
      learner.add({x.data(), z.size()}, std::span<const double>(g.data(), z.size()));
    }
    const Metric metric = learner.metric();
    Eigen::MatrixXd whitened(size, size);
    std::vector<double> axis(size), pushed(size);
    for (std::size_t i = 0; i < axis.size(); ++i) {
      axis[i] = 1;
      metric.push(axis, pushed);
      axis[i] = 0;
      whitened.col(static_cast<Eigen::Index>(i)) = Eigen::Map<const Eigen::VectorXd>(pushed.data(), size);
    }
    const Eigen::MatrixXd seen = whitened.transpose() * precision * whitened;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(seen);
    return solver.eigenvalues().maxCoeff() / solver.eigenvalues().minCoeff();
  };
  const double by_scales = condition(MetricKind::diag);
  EXPECT_GT(by_scales, 10'000) << "scales alone would have done: the test shows nothing";
  EXPECT_LT(condition(MetricKind::lowrank), by_scales / 100);
  EXPECT_LT(condition(MetricKind::dense), by_scales / 100);
}

/// Draws of a normal that is as wide as 1 but for two directions.
struct TwoWide {
  Eigen::MatrixXd directions;  ///< orthonormal columns
  std::vector<double> sd{10, 5};

  explicit TwoWide(std::size_t dimension) : directions(static_cast<Eigen::Index>(dimension), 2) {
    for (Eigen::Index i = 0; i < directions.rows(); ++i)
      directions.row(i) << (i % 2 == 0 ? 1 : -1), (i % 4 < 2 ? 1 : -1);
    directions.colwise().normalize();
  }
  std::vector<double> draw(const Stream& stream, std::uint64_t n) const {
    std::vector<double> x(static_cast<std::size_t>(directions.rows()));
    stream.normals(n, Purpose::noise, x);
    Eigen::Map<Eigen::VectorXd> v(x.data(), directions.rows());
    for (Eigen::Index k = 0; k < 2; ++k)
      v += (sd[static_cast<std::size_t>(k)] - 1) * directions.col(k).dot(v) * directions.col(k);
    return x;
  }
  Eigen::MatrixXd covariance() const {
    Eigen::MatrixXd result = Eigen::MatrixXd::Identity(directions.rows(), directions.rows());
    for (Eigen::Index k = 0; k < 2; ++k)
      result += (std::pow(sd[static_cast<std::size_t>(k)], 2) - 1) * directions.col(k) *
                directions.col(k).transpose();
    return result;
  }
};

/// The widest direction of a normal in the units of a metric: 1 would be perfect.
double widest(const Eigen::MatrixXd& covariance, const Metric& metric) {
  const auto size = static_cast<std::size_t>(covariance.rows());
  Eigen::MatrixXd l(covariance.rows(), covariance.rows());
  std::vector<double> axis(size), column(size);
  for (std::size_t i = 0; i < size; ++i) {
    axis[i] = 1;
    metric.push(axis, column);
    axis[i] = 0;
    l.col(static_cast<Eigen::Index>(i)) = Eigen::Map<const Eigen::VectorXd>(column.data(), covariance.rows());
  }
  const Eigen::MatrixXd inverse = l.inverse();
  const Eigen::MatrixXd seen = inverse * covariance * inverse.transpose();
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(seen).eigenvalues().maxCoeff();
}

TEST(CovarianceLearner, LowRankFindsTheWideDirections) {
  const TwoWide normal(200);
  const Stream stream(2, 0);
  // 1,000: more than are kept
  for (const std::size_t count : {100, 1000}) {
    CovarianceLearner learner(MetricKind::lowrank, 200), diag(MetricKind::diag, 200);
    for (std::size_t n = 0; n < count; ++n) {
      learner.add(normal.draw(stream, n));
      diag.add(normal.draw(stream, n));
    }
    const Metric metric = learner.metric();
    ASSERT_EQ(metric.kind(), MetricKind::lowrank);
    ASSERT_EQ(metric.directions().cols(), 2);
    EXPECT_LT((metric.directions().transpose() * metric.directions() - Eigen::Matrix2d::Identity()).norm(),
              1e-10);
    for (Eigen::Index k = 0; k < 2; ++k)
      EXPECT_GT(std::abs(metric.directions().col(k).dot(normal.directions.col(k))), 0.9);
    const double before = widest(normal.covariance(), diag.metric()),
                 now = widest(normal.covariance(), metric);
    EXPECT_GT(before, 30);
    EXPECT_LT(now, 5);
  }
}

TEST(CovarianceLearner, LowRankFindsNothingWhereThereIsNothing) {
  const Stream stream(2, 0);
  CovarianceLearner learner(MetricKind::lowrank, 200);
  std::vector<double> x(200);
  for (std::uint64_t n = 0; n < 100; ++n) {
    stream.normals(n, Purpose::noise, x);
    learner.add(x);
  }
  EXPECT_EQ(learner.metric().kind(), MetricKind::diag);
}

TEST(CovarianceLearner, ClearForgets) {
  for (const auto kind : {MetricKind::diag, MetricKind::dense, MetricKind::lowrank}) {
    const auto x = places(20, 3);
    CovarianceLearner used(kind, 3), fresh(kind, 3);
    for (std::size_t i = 0; i < 10; ++i) used.add(x[i]);
    used.clear();
    EXPECT_EQ(used.count(), 0u);
    for (std::size_t i = 10; i < 20; ++i) {
      used.add(x[i]);
      fresh.add(x[i]);
    }
    EXPECT_EQ(used.metric().scale(), fresh.metric().scale());
    EXPECT_EQ(used.metric().lower(), fresh.metric().lower());
    EXPECT_EQ(used.metric().gains(), fresh.metric().gains());
  }
}

TEST(CovarianceLearner, KnowsNothingFromOnePlace) {
  const std::vector<double> x{1, 2};
  for (const auto kind : {MetricKind::none, MetricKind::diag, MetricKind::dense, MetricKind::lowrank}) {
    CovarianceLearner learner(kind, 2);
    EXPECT_EQ(learner.metric().kind(), MetricKind::none);
    learner.add(x);
    EXPECT_EQ(learner.metric().kind(), MetricKind::none);
  }
}

TEST(CheckDenseMetric, RefusesWhatCannotFit) {
  EXPECT_NO_THROW(check_dense_metric(100, 4));
  try {
    check_dense_metric(10'000'000, 4);
    FAIL() << "2.4 petabytes a chain were granted";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("10000000 parameters"));
    EXPECT_THAT(e.what(), HasSubstr("4 chains"));
    EXPECT_THAT(e.what(), HasSubstr("9600000 GB"));
    EXPECT_THAT(e.what(), HasSubstr("`metric` diag"));
  }
}

}  // namespace
}  // namespace onward
