// Warm-up: each of its parts against formulas, and the whole on targets whose scales are known.

#include "onward/warmup/warmup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
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

Schedule schedule(std::size_t sweeps) {
  WarmUpWindows windows(sweeps);
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
  for (const std::size_t count : {2, 10, 200}) {  // 2: singular but for the shrinkage
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

TEST(CovarianceLearner, ClearForgets) {
  for (const auto kind : {MetricKind::diag, MetricKind::dense}) {
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
  }
}

TEST(CovarianceLearner, KnowsNothingFromOnePlace) {
  const std::vector<double> x{1, 2};
  for (const auto kind : {MetricKind::none, MetricKind::diag, MetricKind::dense}) {
    CovarianceLearner learner(kind, 2);
    EXPECT_EQ(learner.metric().kind(), MetricKind::none);
    learner.add(x);
    EXPECT_EQ(learner.metric().kind(), MetricKind::none);
  }
}

// --- the metric itself

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

TEST(Metric, PullIsTheTransposeOfPush) {
  Eigen::MatrixXd lower(3, 3);
  lower << 2, 99, 99, -1, 3, 99, 0.5, 4, 0.25;  // what is above the diagonal must not matter
  const std::vector<Metric> metrics{Metric{}, Metric::diagonal({0.5, 2, 10}), Metric::dense(lower)};
  const std::vector<double> x{1, -2, 3}, y{0.3, 0.7, -1.1};
  const std::vector<std::vector<double>> pushed{{1, -2, 3}, {0.5, -4, 30}, {2, -7, -6.75}};
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const auto lx = pushed_by(metrics[m], x), lty = pulled_by(metrics[m], y);
    EXPECT_EQ(lx, pushed[m]);
    double left = 0, right = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      left += lx[i] * y[i];
      right += x[i] * lty[i];
    }
    EXPECT_NEAR(left, right, 1e-12) << to_string(metrics[m].kind());
  }
}

TEST(Metric, KnowsItsKindsByName) {
  for (const auto kind : {MetricKind::none, MetricKind::diag, MetricKind::dense})
    EXPECT_EQ(metric_from_string(to_string(kind)), kind);
  try {
    metric_from_string("dens");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'dens'"));
    EXPECT_THAT(e.what(), HasSubstr("Did you mean dense?"));
  }
}

TEST(Metric, DenseIsRefusedWhereItCannotFit) {
  EXPECT_NO_THROW(check_dense_metric(100, 4));
  try {
    check_dense_metric(10'000'000, 4);
    FAIL() << "2.4 petabytes a chain were granted";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("10000000 parameters"));
    EXPECT_THAT(e.what(), HasSubstr("4 chains"));
    EXPECT_THAT(e.what(), HasSubstr("9600000.0 GB"));
    EXPECT_THAT(e.what(), HasSubstr("--metric diag"));
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
  WarmUp warmup(settings, dimension);
  warmup.search_step_size(state, target, stream, workspace);
  std::uint64_t number = 0;
  while (number < settings.steps) warmup.step(state, target, stream, ++number, workspace);
  Outcome outcome{warmup.freeze(), state, 0};
  const std::size_t more = 4000;
  for (std::size_t i = 0; i < more; ++i)
    outcome.acceptance += step(outcome.frozen.kernel, state, target, outcome.frozen.metric,
                               StepRandom(stream, ++number), workspace)
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
  EXPECT_EQ(outcome.frozen.settings.step_size, 0.7);
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
  for (std::uint64_t number = 1; number <= 150; ++number)
    step(kernel, state, t, Metric{}, StepRandom(stream, number), workspace);
  EXPECT_EQ(std::memcmp(outcome.state.position.data(), state.position.data(), 3 * sizeof(double)), 0);
  EXPECT_EQ(outcome.frozen.settings.step_size, 0.9);
  EXPECT_EQ(outcome.frozen.metric.kind(), MetricKind::none);
}

TEST(WarmUp, TheSearchLeavesTheStateAlone) {
  AnyTarget t = target(3, Normal{{1, 2, 3}});
  State state;
  state.position = {1, 2, 3};
  state.value = t.value(state.position);
  Workspace workspace(3);
  WarmUp warmup(with("mala", MetricKind::none), 3);
  const State before = state;
  warmup.search_step_size(state, t, Stream(1, 0), workspace);
  EXPECT_EQ(state.position, before.position);
  EXPECT_EQ(state.value, before.value);
  EXPECT_NE(warmup.freeze().settings.step_size, 1) << "the search found nothing better than where it began";
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
  WarmUp warmup(with("rwm", MetricKind::none), 2);
  for (std::uint64_t n = 1; n <= 20; ++n) warmup.step(state, t, stream, n, workspace);
  const FrozenKernel frozen = warmup.freeze();
  const double kept = frozen.settings.step_size;
  for (std::uint64_t n = 21; n <= 60; ++n) warmup.step(state, t, stream, n, workspace);
  EXPECT_NE(warmup.freeze().settings.step_size, kept);
  EXPECT_EQ(frozen.settings.step_size, kept);
  EXPECT_EQ(std::get<Rwm>(frozen.kernel).step_size, kept);
}

TEST(WarmUp, GivesUsableSettingsOnAFlatTargetAndOnOneThatRejectsAll) {
  const AnyTarget flat = target(1, [](const auto& t) { return 0.0 * t[0]; });
  const Outcome far = warm_up(flat, with("rwm", MetricKind::none), 20'000);
  EXPECT_TRUE(std::isfinite(far.frozen.settings.step_size));
  const AnyTarget point = target(1, [](const auto& t) {
    const double x = value_of(t[0]);
    return (x == 0.5 ? 0.0 : -std::numeric_limits<double>::infinity()) + 0.0 * t[0];
  });
  const Outcome stuck = warm_up(point, with("rwm", MetricKind::none), 20'000);
  EXPECT_GT(stuck.frozen.settings.step_size, 0);
  EXPECT_EQ(stuck.state.position[0], 0.5);
}

}  // namespace
}  // namespace onward
