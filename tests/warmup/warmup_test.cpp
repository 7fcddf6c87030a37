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

/// As Stan's, and the second half of the first stretch besides.
TEST(WarmUpWindows, OfAThousandSweeps) {
  const Schedule s = schedule(1000);
  EXPECT_THAT(s.ends, ElementsAre(75, 100, 150, 250, 450, 950));
  EXPECT_EQ(s.learned.front(), 38u);
  EXPECT_EQ(s.learned.back(), 950u);
  EXPECT_EQ(s.learned.size(), 913u);
  EXPECT_EQ(WarmUpWindows(1000).arrived(), 75u);
}

TEST(WarmUpWindows, AreAsLongAsAMatrixNeeds) {
  EXPECT_THAT(schedule(1000, 40).ends, ElementsAre(75, 115, 195, 355, 950));
  EXPECT_THAT(schedule(1000, 200).ends, ElementsAre(75, 275, 950));
  EXPECT_THAT(schedule(1000, 5000).ends, ElementsAre(150, 900)) << "all there is";
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
      const bool first_stretch = end == WarmUpWindows(sweeps).arrived();
      EXPECT_GE(end - begin, before) << sweeps << ": a window shorter than the one before it";
      before = first_stretch ? 0 : end - begin;
      begin = end;
    }
  }
}

TEST(WarmUpWindows, ShortOnesKeepTheShares) {
  EXPECT_THAT(schedule(20).ends, ElementsAre(18));        // 3 + 15 + 2
  EXPECT_THAT(schedule(100).ends, ElementsAre(90));       // 15 + 75 + 10
  EXPECT_THAT(schedule(149).ends, ElementsAre(22, 135));  // 22 + 113 + 14
  EXPECT_THAT(schedule(150).ends, ElementsAre(75, 100));  // 75 + 25 + 50
  EXPECT_THAT(schedule(151).ends, ElementsAre(75, 101));
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
    // Lengths of trajectories are powers of two, and their acceptance jumps where these do.
    EXPECT_NEAR(own, info.target_acceptance, info.follows_trajectories ? 0.15 : 0.1) << info.name;
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
