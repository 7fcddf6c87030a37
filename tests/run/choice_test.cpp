// The sampler auto: trajectories where there is a gradient, else what pilots show; the same choice for the
// same seed, settings of the user's that hold, and what happens when there is no time for pilots.

#include "onward/run/choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "models/models.hpp"
#include "onward/error.hpp"
#include "onward/run/run.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct StandardNormal {
  template <class T>
  T operator()(std::span<const T> t) const {
    T sum = t[0] * t[0];
    for (std::size_t i = 1; i < t.size(); ++i) sum += t[i] * t[i];
    return -0.5 * sum;
  }
};

RunSettings automatic() {
  RunSettings s;
  s.seed = 5;
  s.draws = 50;
  s.chains = 2;
  return s;
}

std::vector<std::string> piloted(const Choice& choice) {
  std::vector<std::string> names;
  for (const auto& pilot : choice.pilots) names.push_back(pilot.sampler);
  return names;
}

void expect_same(const Choice& a, const Choice& b) {
  EXPECT_EQ(a.sampler, b.sampler);
  EXPECT_EQ(a.thin, b.thin);
  EXPECT_EQ(a.warmup, b.warmup);
  ASSERT_EQ(a.pilots.size(), b.pilots.size());
  for (std::size_t i = 0; i < a.pilots.size(); ++i) {
    EXPECT_EQ(a.pilots[i].sampler, b.pilots[i].sampler);
    EXPECT_EQ(a.pilots[i].min_ess, b.pilots[i].min_ess);
    EXPECT_EQ(a.pilots[i].evaluations, b.pilots[i].evaluations);
    EXPECT_EQ(a.pilots[i].steps, b.pilots[i].steps);
  }
}

bool same_draws(const Run& a, const Run& b) {
  bool same = a.chains.size() == b.chains.size();
  for (std::size_t c = 0; same && c < a.chains.size(); ++c) same = a.chains[c].values == b.chains[c].values;
  return same;
}

/// Directions are for samplers that take some, which trajectories do not: so there are pilots.
RunSettings with_pilots() {
  RunSettings s = automatic();
  s.directions = "frames";
  return s;
}

TEST(Choice, IsTrajectoriesWhereThereIsAGradient) {
  RunSettings s = automatic();
  const auto run = sample(models::make("eight-schools").target, s);
  ASSERT_TRUE(run.choice);
  EXPECT_EQ(run.choice->sampler, "nuts");
  EXPECT_TRUE(run.choice->pilots.empty());
  EXPECT_EQ(run.settings.sampler, "nuts");
  EXPECT_EQ(run.thin(), 1u);
  EXPECT_EQ(run.warmup(), 1000u);
  EXPECT_THAT(describe(*run.choice), HasSubstr("gradient"));
  s.sampler = "nuts";
  EXPECT_TRUE(same_draws(run, sample(models::make("eight-schools").target, s)));
}

TEST(Choice, IsTheSameForTheSameSeedWhateverTheThreads) {
  for (const std::string name : {"gaussian", "eight-schools"}) {
    const AnyTarget target = models::make(name).target;
    RunSettings s = with_pilots();
    s.threads = 1;
    const auto first = sample(target, s);
    ASSERT_TRUE(first.choice);
    EXPECT_THAT(piloted(*first.choice), UnorderedElementsAre("newton-line", "rwm"));
    for (const std::size_t threads : {2, 1}) {
      s.threads = threads;
      const auto again = sample(target, s);
      ASSERT_TRUE(again.choice);
      expect_same(*first.choice, *again.choice);
      EXPECT_TRUE(same_draws(first, again)) << name << " on " << threads << " threads";
    }
  }
}

TEST(Choice, IsTheBestOfItsPilotsAndTheRunIsThatSamplers) {
  const AnyTarget t = target(5, StandardNormal{});
  RunSettings s = with_pilots();
  const auto run = sample(t, s);
  ASSERT_TRUE(run.choice);
  const Choice& choice = *run.choice;
  EXPECT_EQ(choice.sampler, choice.pilots.front().sampler);
  for (const auto& pilot : choice.pilots) {
    EXPECT_LE(pilot.score(), choice.pilots.front().score());
    EXPECT_GT(pilot.min_ess, 1);
    EXPECT_GT(pilot.evaluations, 0);
  }
  EXPECT_EQ(run.settings.sampler, choice.sampler);
  EXPECT_EQ(run.settings.thin, choice.thin);
  EXPECT_EQ(run.settings.warmup, choice.warmup);
  EXPECT_GE(choice.thin, 1u);

  // as if it had been asked for
  if (choice.sampler == "rwm") s.directions = "auto";
  const auto named = sample(t, with_choice(s, choice));
  EXPECT_FALSE(named.choice);
  EXPECT_TRUE(same_draws(run, named));
  EXPECT_THAT(describe(choice), testing::StartsWith(choice.sampler));
  for (const auto& pilot : choice.pilots) EXPECT_THAT(describe(choice), HasSubstr(pilot.sampler));
}

TEST(Choice, ThinsDrawsTowardsIndependence) {
  RunSettings s = with_pilots();
  s.chains = 4;
  s.draws = 500;
  const auto run = sample(models::make("gaussian", {.dimension = 10, .condition = 100.0}).target, s);
  for (const auto& row : run.summary()) EXPECT_GT(row.ess_bulk, 0.25 * 4 * 500) << row.name;
}

TEST(Choice, LeavesTheUsersSettingsAlone) {
  const AnyTarget t = target(3, StandardNormal{});
  RunSettings s = automatic();
  s.thin = 7;
  s.warmup = 123;
  s.metric = MetricKind::diag;
  const auto run = sample(t, s);
  ASSERT_TRUE(run.choice);
  EXPECT_EQ(run.settings.thin, 7u);
  EXPECT_EQ(run.settings.warmup, 123u);
  EXPECT_EQ(run.settings.metric, MetricKind::diag);
  EXPECT_EQ(run.settings.chains, 2u);
  EXPECT_EQ(run.settings.draws, 50u);
  EXPECT_EQ(run.settings.seed, 5u);
}

TEST(Choice, IsNotNeededWithAFixedStepSizeOrANamedSampler) {
  const AnyTarget t = target(3, StandardNormal{});
  RunSettings s = automatic();
  s.step_size = 0.7;
  const auto fixed = sample(t, s);
  EXPECT_FALSE(fixed.choice);
  EXPECT_EQ(fixed.settings.sampler, "pc-line-fmala");
  EXPECT_EQ(fixed.chains[0].step_size, 0.7);
  s = automatic();
  s.sampler = "rwm";
  EXPECT_FALSE(sample(t, s).choice);
}

/// A normal that can be slowed down.
struct Slopes {
  int microseconds = 0;
  static std::size_t dimension() { return 2; }
  Jet jet(VectorView x, VectorView v, Order order) const {
    if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    const double value = -0.5 * (x[0] * x[0] + x[1] * x[1]);
    if (order == Order::value) return {value, 0, 0};
    return {value, -x[0] * v[0] - x[1] * v[1], order == Order::curvature ? -v[0] * v[0] - v[1] * v[1] : 0};
  }
};

TEST(Choice, IsByPilotsForAModelWithoutGradient) {
  const auto run = sample(Slopes{}, automatic());
  ASSERT_TRUE(run.choice);
  EXPECT_THAT(piloted(*run.choice), UnorderedElementsAre("newton-line", "rwm"));
}

TEST(Choice, InterruptedInThePilotsIsARunWithoutDraws) {
  std::atomic<bool> stop{true};
  Hooks hooks;
  hooks.stop = &stop;
  const auto run = sample(Slopes{100}, automatic(), hooks);
  EXPECT_EQ(run.ending, Ending::interrupted);
  EXPECT_EQ(run.draws(), 0u);
  ASSERT_TRUE(run.choice);
  EXPECT_EQ(run.choice->sampler, "newton-line");
  EXPECT_TRUE(run.choice->pilots.empty());
  EXPECT_THAT(describe(*run.choice), HasSubstr("no time"));
}

TEST(Choice, PilotsThatTellNothingAreRepeatedAtTwiceTheLength) {
  // A normal in two dimensions tells at once; the funnel's neck takes far longer than a first pilot.
  const AnyTarget easy = target(2, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1]); });
  const AnyTarget hard = target(2, [](const auto& t) {
    using std::exp;
    return -t[0] * t[0] / 200.0 + 0.5 * t[0] - 0.5 * exp(t[0]) * t[1] * t[1];
  });
  RunSettings s = with_pilots();
  s.draws = 1000;
  s.warmup = 0;
  s.thin = 1;
  const auto steps = [&](const AnyTarget& model) {
    return std::ranges::find(sample(model, s).choice->pilots, "newton-line", &Pilot::sampler)->steps;
  };
  EXPECT_GE(steps(hard), 2 * steps(easy));
}

TEST(Choice, WithoutTimeForPilotsIsNewtonLine) {
  RunSettings s = automatic();
  s.max_seconds = 0.3;
  s.draws = 1'000'000'000;
  s.warmup = 10;
  const auto run = sample(Slopes{100}, s);
  EXPECT_EQ(run.ending, Ending::time_limit);
  EXPECT_EQ(run.settings.sampler, "newton-line");
  EXPECT_EQ(run.settings.thin, 2u);
  ASSERT_TRUE(run.choice);
  EXPECT_TRUE(run.choice->pilots.empty());
}

TEST(Choice, OfAModelThatCannotStartIsAnError) {
  const AnyTarget nowhere = target(2, [](const auto& t) { return t[0] * NAN; });
  EXPECT_THROW(sample(nowhere, automatic()), Error);
}

TEST(Choice, RefusesWrongSettingsLikeAnyRun) {
  RunSettings s = automatic();
  s.sampler_options["relaxation"] = 2;
  EXPECT_THROW(sample(target(3, StandardNormal{}), s), UsageError);
  s = automatic();
  s.directions = "circle";
  EXPECT_THROW(sample(target(3, StandardNormal{}), s), UsageError);
}

}  // namespace
}  // namespace onward
