// Warm-up: each of its parts against formulas, and the whole on targets whose scales are known.

#include "onward/warmup/warmup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "onward/error.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// --- dual averaging

TEST(DualAveraging, FindsTheStepSizeOfTheWantedAcceptance) {
  for (const double wanted : {0.25, 0.6, 0.8}) {
    for (const double width : {1e-6, 1.0, 1e6}) {
      const double start = 0.3 * width;
      DualAveraging averaging(wanted, start);
      EXPECT_DOUBLE_EQ(averaging.current(), start);
      for (int i = 0; i < 3000; ++i) averaging.update(std::exp(-averaging.current() / width));
      EXPECT_NEAR(std::exp(-averaging.average() / width), wanted, 0.01);
    }
  }
}

TEST(DualAveraging, RestartForgets) {
  DualAveraging used(0.6, 1.0), fresh(0.6, 5.0);
  for (int i = 0; i < 50; ++i) used.update(0.1);
  used.restart(5.0);
  for (int i = 0; i < 20; ++i) {
    used.update(0.7);
    fresh.update(0.7);
  }
  EXPECT_EQ(used.current(), fresh.current());
  EXPECT_EQ(used.average(), fresh.average());
}

// --- windows

struct Schedule {
  std::vector<std::size_t> ends, learned;
};

Schedule schedule(std::size_t sweeps, std::size_t shortest = 25) {
  WarmUpWindows windows(sweeps, shortest);
  Schedule result;
  for (std::size_t sweep = 1; sweep <= sweeps; ++sweep) {
    if (windows.learns(sweep)) result.learned.push_back(sweep);
    if (windows.ends(sweep)) result.ends.push_back(sweep);
  }
  return result;
}

TEST(WarmUpWindows, AreThoseOfStanForAThousandSweeps) {
  const Schedule s = schedule(1000);
  EXPECT_THAT(s.ends, ElementsAre(100, 150, 250, 450, 950));
  EXPECT_EQ(s.learned.front(), 76u);
  EXPECT_EQ(s.learned.back(), 950u);
  EXPECT_EQ(s.learned.size(), 875u);
}

TEST(WarmUpWindows, AreAsLongAsAMatrixNeeds) {
  EXPECT_THAT(schedule(1000, 40).ends, ElementsAre(115, 195, 355, 950));
  EXPECT_THAT(schedule(1000, 200).ends, ElementsAre(275, 950));
  EXPECT_THAT(schedule(1000, 5000).ends, ElementsAre(900)) << "all there is";
}

TEST(WarmUpWindows, TooShortForAMetricLearnNone) {
  for (const std::size_t sweeps : {0, 1, 5, 19}) {
    EXPECT_TRUE(schedule(sweeps).ends.empty()) << sweeps;
    EXPECT_TRUE(schedule(sweeps).learned.empty()) << sweeps;
  }
}

TEST(WarmUpWindows, OfAnyLengthEndWithWhatIsLearned) {
  for (std::size_t sweeps = 20; sweeps <= 2000; ++sweeps) {
    const Schedule s = schedule(sweeps);
    ASSERT_FALSE(s.ends.empty()) << sweeps;
    EXPECT_EQ(s.ends.back(), s.learned.back()) << sweeps << ": places were learned and then not used";
    EXPECT_LT(s.ends.back(), sweeps) << ": nothing left to find the last step size";
    EXPECT_EQ(s.learned.size(), s.learned.back() - s.learned.front() + 1) << sweeps << ": a gap";
    std::size_t begin = s.learned.front() - 1, before = 0;
    for (const std::size_t end : s.ends) {
      EXPECT_GE(end - begin, before) << sweeps << ": a window shorter than the one before it";
      before = end - begin;
      begin = end;
    }
  }
}

TEST(WarmUpWindows, ShortOnesKeepTheShares) {
  EXPECT_THAT(schedule(20).ends, ElementsAre(18));    // 3 + 15 + 2
  EXPECT_THAT(schedule(100).ends, ElementsAre(90));   // 15 + 75 + 10
  EXPECT_THAT(schedule(149).ends, ElementsAre(135));  // 22 + 113 + 14
  EXPECT_THAT(schedule(150).ends, ElementsAre(100));  // 75 + 25 + 50
  EXPECT_THAT(schedule(151).ends, ElementsAre(101));
}

// --- learning scales

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

// --- the whole

/// Independent normals of given standard deviations; neighbours correlated by rho.
struct Normal {
  std::vector<double> sd;
  double rho = 0;
  template <class T>
  T operator()(std::span<const T> t) const {
    T sum = (t[0] / sd[0]) * (t[0] / sd[0]);
    for (std::size_t i = 1; i < t.size(); ++i) {
      const T z = (t[i] / sd[i] - rho * (t[i - 1] / sd[i - 1]));
      sum += z * z / (1 - rho * rho);
    }
    return -0.5 * sum;
  }
};

bool is_line(const std::string& sampler) { return find_sampler(sampler).line; }

struct Outcome {
  FrozenKernel frozen;
  State state;
  double acceptance;  ///< with the frozen kernel
};

Outcome warm_up(AnyTarget target, WarmUpSettings settings, std::size_t sweeps, std::uint64_t seed = 3,
                double start = 0.5) {
  const std::size_t dimension = target.dimension();
  settings.sweep = is_line(settings.kernel.sampler) ? dimension : 1;
  settings.steps = sweeps * settings.sweep;
  const Stream stream(seed, 0);
  Workspace workspace(dimension);
  State state;
  state.position.resize(dimension, start);
  state.value = target.value(state.position);
  WarmUp warmup(settings, target);
  warmup.search_step_size(state, target, stream, workspace);
  std::uint64_t number = 0;
  while (number < settings.steps) warmup.step(state, target, stream, ++number, workspace);
  Outcome outcome{warmup.freeze(), state, 0};
  const std::size_t more = 4000;
  for (std::size_t i = 0; i < more; ++i)
    outcome.acceptance += step(outcome.frozen.kernel, state, target, outcome.frozen.metric, stream, ++number,
                               outcome.frozen.directions, workspace)
                              .acceptance /
                          static_cast<double>(more);
  return outcome;
}

WarmUpSettings with(std::string sampler, MetricKind metric) {
  WarmUpSettings settings;
  settings.kernel.sampler = std::move(sampler);
  settings.metric = metric;
  return settings;
}

TEST(WarmUp, ReachesTheWantedAcceptanceForEverySampler) {
  const AnyTarget standard = target(10, Normal{std::vector<double>(10, 1.0)});
  constexpr int chains = 8;
  for (const auto& info : samplers()) {
    if (!info.tuned) continue;
    double own = 0, half = 0;
    for (std::uint64_t seed = 1; seed <= chains; ++seed) {
      own +=
          warm_up(standard, with(std::string(info.name), MetricKind::diag), 1000, seed).acceptance / chains;
      WarmUpSettings asked = with(std::string(info.name), MetricKind::none);
      asked.target_acceptance = 0.5;
      half += warm_up(standard, asked, 1000, seed).acceptance / chains;
    }
    EXPECT_NEAR(own, info.target_acceptance, 0.1) << info.name;
    EXPECT_NEAR(half, 0.5, 0.05) << info.name;
  }
}

/// Along the line of a normal newton-line accepts all but some of its plain moves.
TEST(WarmUp, LeavesNewtonLineAsItIs) {
  const Outcome outcome =
      warm_up(target(10, Normal{std::vector<double>(10, 3.0)}), with("newton-line", MetricKind::dense), 300);
  EXPECT_EQ(step_size(outcome.frozen.kernel), 1);
  EXPECT_EQ(std::get<NewtonLine>(outcome.frozen.kernel).relaxation, 1);
  EXPECT_TRUE(std::holds_alternative<FrameDirections>(outcome.frozen.directions));
  EXPECT_GT(outcome.acceptance, 1 - NewtonLine::plain_share);
}

TEST(WarmUp, FindsStepSizesOfAnyMagnitude) {
  for (const double scale : {1e-8, 1e8}) {
    const AnyTarget t = target(3, Normal{std::vector<double>(3, scale)});
    const Outcome outcome = warm_up(t, with("rwm", MetricKind::none), 1000, 3, 0.5 * scale);
    EXPECT_NEAR(outcome.acceptance, find_sampler("rwm").target_acceptance, 0.1) << scale;
  }
}

TEST(WarmUp, RecoversFromAStartFarOut) {
  const AnyTarget t = target(3, Normal{std::vector<double>(3, 1e-4)});  // the start is 5,000 sds away
  for (const char* sampler : {"rwm", "mala", "pc-line-fmala"}) {
    const Outcome outcome = warm_up(t, with(sampler, MetricKind::diag), 1000);
    for (const double x : outcome.state.position) EXPECT_LT(std::abs(x), 6e-4) << sampler;
    EXPECT_GT(outcome.acceptance, 0.1) << sampler;
  }
}

TEST(WarmUp, DiagRecoversScales) {
  const std::vector<double> sd{0.05, 0.3, 1, 3, 20};
  for (const char* sampler : {"mala", "pc-line-fmala"}) {
    const Outcome outcome = warm_up(target(5, Normal{sd}), with(sampler, MetricKind::diag), 3000);
    ASSERT_EQ(outcome.frozen.metric.kind(), MetricKind::diag);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(outcome.frozen.metric.scale()[i] / sd[i], 1, 0.3) << sampler << ", parameter " << i + 1;
  }
}

TEST(WarmUp, DenseRecoversCorrelation) {
  const Normal normal{{1, 5, 0.2}, 0.95};
  for (const char* sampler : {"mala", "pc-line-fmala"}) {
    const Outcome outcome = warm_up(target(3, normal), with(sampler, MetricKind::dense), 2000);
    ASSERT_EQ(outcome.frozen.metric.kind(), MetricKind::dense);
    const Eigen::MatrixXd& lower = outcome.frozen.metric.lower();
    const Eigen::MatrixXd covariance = lower * lower.transpose();
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(std::sqrt(covariance(i, i)) / normal.sd[static_cast<std::size_t>(i)], 1, 0.3) << sampler;
      for (int j = 0; j < i; ++j)
        EXPECT_NEAR(covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j)), std::pow(0.95, i - j),
                    0.05)
            << sampler;
    }
  }
}

/// Exactly, and whether the model offers a gradient or slopes alone.
TEST(WarmUp, DenseIsTheCovarianceOfANormal) {
  const Normal normal{{1, 5, 0.2}, 0.95};
  struct SlopesOnly {
    CallableTarget<Normal> target;
    std::size_t dimension() const { return target.dimension(); }
    Jet jet(VectorView theta, VectorView v, Order order) { return target.jet(theta, v, order); }
  };
  const auto whole = target(3, normal);
  ASSERT_FALSE(AnyTarget(SlopesOnly{whole}).has_gradient());
  for (const AnyTarget& t : {AnyTarget(whole), AnyTarget(SlopesOnly{whole})})
    for (const char* sampler : {"newton-line", "rwm", "mala"}) {
      if (find_sampler(sampler).needs_gradient && !t.has_gradient()) continue;
      const Outcome outcome = warm_up(t, with(sampler, MetricKind::dense), 200);
      ASSERT_EQ(outcome.frozen.metric.kind(), MetricKind::dense);
      const Eigen::MatrixXd& lower = outcome.frozen.metric.lower();
      const Eigen::MatrixXd covariance = lower * lower.transpose();
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j <= i; ++j) {
          const double scale =
              normal.sd[static_cast<std::size_t>(i)] * normal.sd[static_cast<std::size_t>(j)];
          EXPECT_NEAR(covariance(i, j) / scale, std::pow(0.95, i - j), 1e-6) << sampler;
        }
    }
}

/// A failed gradient comes as zeros; taken for one, it would make the target look three times as wide.
TEST(WarmUp, LearnsNothingFromAGradientThatFailed) {
  struct Failing {
    CallableTarget<Normal> target;
    std::size_t dimension() const { return target.dimension(); }
    Jet jet(VectorView theta, VectorView v, Order order) { return target.jet(theta, v, order); }
    double gradient(VectorView theta, std::span<double> out) {
      return theta[0] > -1.28 ? std::numeric_limits<double>::quiet_NaN() : target.gradient(theta, out);
    }
  };
  for (const auto metric : {MetricKind::diag, MetricKind::dense}) {
    const Outcome outcome = warm_up(Failing{target(2, Normal{{1, 5}})}, with("newton-line", metric), 1000);
    const auto variances = outcome.frozen.metric.variances();
    EXPECT_NEAR(variances[0], 1, 0.5) << to_string(metric);
    EXPECT_NEAR(variances[1] / 25, 1, 0.5) << to_string(metric);
  }
}

TEST(WarmUp, LowRankFindsAWideDirection) {
  constexpr std::size_t dimension = 120;
  // variance 1 but for the direction of all ones: 1 + 100
  const AnyTarget t = target(dimension, [](const auto& x) {
    auto sum = x[0] * x[0], total = x[0] + 0.0;
    for (std::size_t i = 1; i < dimension; ++i) {
      sum += x[i] * x[i];
      total += x[i];
    }
    return -0.5 * (sum - total * total * (100.0 / 101 / dimension));
  });
  const Outcome outcome = warm_up(t, with("newton-line", MetricKind::lowrank), 300);
  const Metric& metric = outcome.frozen.metric;
  ASSERT_EQ(metric.kind(), MetricKind::lowrank);
  const Eigen::VectorXd ones = Eigen::VectorXd::Constant(dimension, 1 / std::sqrt(double{dimension}));
  EXPECT_GT(std::abs(metric.directions().col(0).dot(ones)), 0.9);
}

TEST(WarmUp, StepSizeAlone) {
  const Outcome outcome = warm_up(target(2, Normal{{1, 30}}), with("rwm", MetricKind::none), 500);
  EXPECT_EQ(outcome.frozen.metric.kind(), MetricKind::none);
  EXPECT_NEAR(outcome.acceptance, 0.25, 0.1);
}

TEST(WarmUp, MetricAlone) {
  WarmUpSettings settings = with("line-fmala", MetricKind::diag);
  settings.adapt_step_size = false;
  settings.kernel.step_size = 0.7;
  const Outcome outcome = warm_up(target(2, Normal{{0.5, 2}}), settings, 2000);
  EXPECT_EQ(step_size(outcome.frozen.kernel), 0.7);
  EXPECT_EQ(std::get<LineFmala>(outcome.frozen.kernel).step_size, 0.7);
  ASSERT_EQ(outcome.frozen.metric.kind(), MetricKind::diag);
  EXPECT_NEAR(outcome.frozen.metric.scale()[0], 0.5, 0.15);
  EXPECT_NEAR(outcome.frozen.metric.scale()[1], 2, 0.6);
}

TEST(WarmUp, WithBothSwitchedOffIsThePlainKernel) {
  WarmUpSettings settings = with("pc-line-fmala", MetricKind::none);
  settings.adapt_step_size = false;
  settings.kernel.step_size = 0.9;
  AnyTarget t = target(3, Normal{{1, 2, 3}});
  const Outcome outcome = warm_up(t, settings, 50);

  const Stream stream(3, 0);
  Workspace workspace(3);
  State state;
  state.position.resize(3, 0.5);
  state.value = t.value(state.position);
  const Kernel kernel = make_kernel(settings.kernel);
  Directions directions = FrameDirections(3);
  for (std::uint64_t number = 1; number <= 150; ++number)
    step(kernel, state, t, Metric{}, stream, number, directions, workspace);
  EXPECT_EQ(std::memcmp(outcome.state.position.data(), state.position.data(), 3 * sizeof(double)), 0);
  EXPECT_EQ(step_size(outcome.frozen.kernel), 0.9);
  EXPECT_EQ(outcome.frozen.metric.kind(), MetricKind::none);
}

TEST(WarmUp, TheSearchLeavesTheStateAlone) {
  AnyTarget t = target(3, Normal{{1, 2, 3}});
  State state;
  state.position = {1, 2, 3};
  state.value = t.value(state.position);
  Workspace workspace(3);
  WarmUp warmup(with("mala", MetricKind::none), t);
  const State before = state;
  warmup.search_step_size(state, t, Stream(1, 0), workspace);
  EXPECT_EQ(state.position, before.position);
  EXPECT_EQ(state.value, before.value);
  EXPECT_NE(warmup.frozen_step_size(), 1) << "the search found nothing better than where it began";
}

// Nothing about a frozen kernel can adapt: it is a record, without the functions of a warm-up.
template <class T>
concept Adapts = requires(T& t, State& state, AnyTarget& target, const Stream& stream, Workspace& workspace) {
  t.step(state, target, stream, std::uint64_t{1}, workspace);
};
static_assert(Adapts<WarmUp> && !Adapts<FrozenKernel>);

TEST(WarmUp, WhatIsFrozenStaysWhileTheWarmUpGoesOn) {
  AnyTarget t = target(2, Normal{{1, 1}});
  State state;
  state.position = {0.1, 0.2};
  state.value = t.value(state.position);
  Workspace workspace(2);
  const Stream stream(1, 0);
  WarmUp warmup(with("rwm", MetricKind::none), t);
  for (std::uint64_t n = 1; n <= 20; ++n) warmup.step(state, t, stream, n, workspace);
  const FrozenKernel frozen = warmup.freeze();
  const double kept = step_size(frozen.kernel);
  for (std::uint64_t n = 21; n <= 60; ++n) warmup.step(state, t, stream, n, workspace);
  EXPECT_NE(warmup.frozen_step_size(), kept);
  EXPECT_EQ(std::get<Rwm>(frozen.kernel).step_size, kept);
}

TEST(WarmUp, GivesUsableSettingsOnAFlatTargetAndOnOneThatRejectsAll) {
  const AnyTarget flat = target(1, [](const auto& t) { return 0.0 * t[0]; });
  const Outcome far = warm_up(flat, with("rwm", MetricKind::none), 20'000);
  EXPECT_TRUE(std::isfinite(step_size(far.frozen.kernel)));
  const AnyTarget point = target(1, [](const auto& t) {
    const double x = value_of(t[0]);
    return (x == 0.5 ? 0.0 : -std::numeric_limits<double>::infinity()) + 0.0 * t[0];
  });
  const Outcome stuck = warm_up(point, with("rwm", MetricKind::none), 20'000);
  EXPECT_GT(step_size(stuck.frozen.kernel), 0);
  EXPECT_EQ(stuck.state.position[0], 0.5);
}

}  // namespace
}  // namespace onward
