// The search for a step size: what it tries, what it takes, and that failures never win.

#include "onward/run/tune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <atomic>
#include <cmath>

#include "onward/error.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using testing::HasSubstr;

AnyTarget normal() {
  return target(3, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]); });
}

RunSettings short_runs(const char* sampler = "line-fmala") {
  RunSettings s;
  s.sampler = sampler;
  s.chains = 2;
  s.warmup = 200;
  s.draws = 500;
  s.seed = 7;
  return s;
}

/// As large as possible at a step size of 0.3, and below zero everywhere.
double peak_at_0_3(const onward::Run& run) {
  const double d = std::log(*run.settings.step_size / 0.3);
  return -5 - d * d;
}

TEST(MostPromising, IsNearTheTopOfASmoothCurveOnceThereAreAFewPoints) {
  const auto curve = [](double x) { return -(x - 1.3) * (x - 1.3); };
  std::vector<double> x{-2, -0.5, 1, 2.5, 4}, y, candidates;
  for (double place : x) y.push_back(curve(place));
  for (int i = 0; i <= 200; ++i) candidates.push_back(-2 + 0.03 * i);
  EXPECT_NEAR(most_promising(x, y, candidates), 1.3, 0.4);
}

TEST(MostPromising, GoesWhereNothingIsKnownWhenAllPointsAreEqual) {
  EXPECT_DOUBLE_EQ(most_promising({0, 0.1}, {1, 1}, {0, 0.05, 0.1, 3}), 3);
}

TEST(Tune, GridIsEvenInTheLogarithmAndItsBestIsTaken) {
  const Tuning found =
      tune_step_size(normal(), short_runs(),
                     {.search = Search::grid, .trials = 5, .least = 0.003, .most = 30, .score = peak_at_0_3});
  ASSERT_EQ(found.trials.size(), 5u);
  const double expected[] = {0.003, 0.03, 0.3, 3, 30};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(found.trials[i].step_size, expected[i], 1e-9 * expected[i]);
  EXPECT_NEAR(found.step_size, 0.3, 1e-9);
  EXPECT_GT(found.trials[0].acceptance, 0.99);
  EXPECT_LT(found.trials[4].acceptance, found.trials[2].acceptance);
}

TEST(Tune, BayesComesCloserThanAGridOfTheSameSize) {
  const Tuning found = tune_step_size(
      normal(), short_runs(),
      {.search = Search::bayes, .trials = 12, .least = 0.001, .most = 100, .score = peak_at_0_3});
  EXPECT_EQ(found.trials.size(), 12u);
  EXPECT_NEAR(std::log(found.step_size / 0.3), 0,
              0.3);  // the grid's neighbours are log(1e5) / 11 = 1.05 apart
}

TEST(Tune, ByEffectiveDrawsFindsTheKnownBestOnANormal) {
  // Line-FMALA on a normal: the line's conditional is standard normal, and the best step size is 1.3 to 1.7.
  const Tuning found = tune_step_size(normal(), short_runs(),
                                      {.search = Search::bayes, .trials = 12, .least = 0.01, .most = 50});
  EXPECT_GT(found.step_size, 0.8);
  EXPECT_LT(found.step_size, 2.2);
}

TEST(Tune, WithoutARangeBeginsAtWhatWarmUpFinds) {
  const Tuning found = tune_step_size(normal(), short_runs(), {.search = Search::grid, .trials = 3});
  ASSERT_EQ(found.trials.size(), 4u);
  EXPECT_NEAR(found.trials[1].step_size, found.trials[0].step_size / 10, 1e-9);
  EXPECT_NEAR(found.trials[3].step_size, found.trials[0].step_size * 10, 1e-9 * found.trials[3].step_size);
}

TEST(Tune, ARunThatGivesNoNumberIsTheWorstAlsoWhenScoresAreNegative) {
  const auto fails_above_1 = [](const onward::Run& run) {
    return *run.settings.step_size > 1 ? NAN : peak_at_0_3(run);
  };
  for (auto search : {Search::grid, Search::bayes}) {
    const Tuning found =
        tune_step_size(normal(), short_runs(),
                       {.search = search, .trials = 8, .least = 0.01, .most = 100, .score = fails_above_1});
    EXPECT_LT(found.step_size, 1) << to_string(search);
    EXPECT_EQ(found.trials.size(), 8u);
  }
}

TEST(Tune, TrialsShareOneMetricSoThatAcceptanceFallsWithTheStepSize) {
  const AnyTarget uneven =
      target(3, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1] / 1e4 + t[2] * t[2] * 1e4); });
  RunSettings s = short_runs("rwm");
  s.warmup = 3000;
  s.metric = MetricKind::diag;
  const Tuning found =
      tune_step_size(uneven, s, {.search = Search::grid, .trials = 6, .least = 0.1, .most = 100});
  for (std::size_t i = 1; i < found.trials.size(); ++i)
    EXPECT_LT(found.trials[i].acceptance, found.trials[i - 1].acceptance);
  EXPECT_LT(found.trials.back().acceptance, 0.01);
}

TEST(Tune, AChainThatStandsStillScoresNothing) {
  const Tuning found = tune_step_size(normal(), short_runs("rwm"),
                                      {.search = Search::grid, .trials = 2, .least = 1, .most = 1e9});
  EXPECT_GT(found.trials[0].score, 1e-3);
  EXPECT_LT(found.trials[1].score, 1e-6);
}

TEST(Tune, HasTheSameBitsForAnyNumberOfThreads) {
  std::vector<std::vector<double>> tried;
  for (std::size_t threads : {1, 2}) {
    RunSettings s = short_runs("pc-line-fmala");
    s.threads = threads;
    const Tuning found = tune_step_size(normal(), s, {.trials = 6, .least = 0.1, .most = 10});
    tried.emplace_back();
    for (const auto& trial : found.trials)
      tried.back().insert(tried.back().end(), {trial.step_size, trial.score});
  }
  EXPECT_EQ(tried[0], tried[1]);
}

TEST(Tune, StopsWhenToldWithTheBestSoFar) {
  std::atomic<bool> stop{false};
  Hooks hooks;
  hooks.stop = &stop;
  int scored = 0;
  const auto score = [&](const onward::Run& run) {
    if (++scored == 3) stop = true;
    return peak_at_0_3(run);
  };
  const Tuning found = tune_step_size(
      normal(), short_runs(),
      {.search = Search::grid, .trials = 5, .least = 0.003, .most = 30, .score = score}, hooks);
  EXPECT_EQ(found.trials.size(), 3u);
  EXPECT_NEAR(found.step_size, 0.3, 1e-9);
}

TEST(Tune, BeginsNoTrialAfterItsTime) {
  const Tuning found =
      tune_step_size(normal(), short_runs(),
                     {.search = Search::grid, .trials = 1000, .least = 0.1, .most = 10, .max_seconds = 1e-9});
  EXPECT_LE(found.trials.size(), 1u);
}

TEST(Tune, RefusesWhatCannotBeTuned) {
  const auto message = [](const RunSettings& s, const TuneSettings& tune) {
    try {
      tune_step_size(normal(), s, tune);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(message(short_runs("newton-line"), {}), HasSubstr("newton-line has no step size"));
  EXPECT_THAT(message(short_runs(), {.trials = 0}), HasSubstr("0 trials"));
  EXPECT_THAT(message(short_runs(), {.least = 2, .most = 1}), HasSubstr("from 2 to 1"));
  EXPECT_THAT(message(short_runs(), {.least = -1}), HasSubstr("from -1"));
}

}  // namespace
}  // namespace onward
