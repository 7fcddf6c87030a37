// Settings: what is filled in, and what is refused with which words.

#include "onward/run/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

RunSettings named(std::string sampler = "pc-line-fmala") {
  RunSettings s;
  s.sampler = std::move(sampler);
  return s;
}

TEST(Resolve, FillsInDefaultsThatCountSweepsForLineKernels) {
  for (const auto& info : samplers()) {
    RunSettings s;
    s.sampler = info.name;
    const RunSettings r = resolve(s, 30);
    const std::size_t sweep = info.line ? 30 : 1;
    EXPECT_EQ(sweep_steps(s.sampler, 30), sweep) << info.name;
    EXPECT_EQ(r.warmup, 1000 * sweep) << info.name;
    EXPECT_EQ(r.thin, sweep) << info.name;
    EXPECT_EQ(r.draws, 1000u);
    EXPECT_EQ(r.chains, 4u);
    EXPECT_EQ(r.metric, MetricKind::dense);
    const bool any_direction = needed_law(make_kernel(kernel_settings(s))) == DirectionLaw::any;
    EXPECT_EQ(r.directions, any_direction ? "frames" : "sphere") << info.name;
    EXPECT_EQ(r.target_acceptance, info.target_acceptance) << info.name;
    EXPECT_FALSE(r.step_size) << "a step size that warm-up is to find was filled in";
    EXPECT_TRUE(r.seed);
    EXPECT_GE(r.threads, 1u);
    EXPECT_LE(r.threads, 4u);
  }
  EXPECT_EQ(RunSettings{}.sampler, "auto");
}

TEST(Resolve, TakesALowRankMetricWhereADenseOneIsDear) {
  EXPECT_EQ(resolve(named(), 100).metric, MetricKind::dense);
  EXPECT_EQ(resolve(named(), 101).metric, MetricKind::lowrank);
  EXPECT_EQ(resolve(named(), 1'000'000).metric, MetricKind::lowrank);
}

TEST(Resolve, WantsAKnownSampler) {
  try {
    resolve({}, 3);
    FAIL() << "auto was taken for a sampler";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'auto'"));
  }
  RunSettings s;
  s.step_size = 0.5;
  EXPECT_EQ(resolve(s, 3).sampler, "pc-line-fmala") << "auto with a fixed step size";
}

TEST(Resolve, NewtonLineHasNoStepSize) {
  RunSettings s = named("newton-line");
  EXPECT_FALSE(resolve(s, 3).step_size);
  s.step_size = 0.5;
  try {
    resolve(s, 3);
    FAIL() << "a step size was taken";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("newton-line"), HasSubstr("0.5"), HasSubstr("`relaxation`")));
  }
}

TEST(Resolve, BoundsTheMovesOfAStep) {
  RunSettings s = named("newton-line");
  s.sampler_options["inner"] = 10'000;
  EXPECT_EQ(resolve(s, 3).sampler_options.at("inner"), 10'000);
  s.sampler_options["inner"] = 1'000'000'000'000;
  try {
    resolve(s, 3);
    FAIL() << "a step that nobody can stop was taken";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("`inner` 1000000000000"), HasSubstr("from 1 to 10000")));
  }
}

TEST(Resolve, KeepsWhatWasAsked) {
  RunSettings s;
  s.step_size = 0.5;
  s.target_acceptance = 0.4;
  s.warmup = 0;
  s.thin = 7;
  s.seed = 99;
  s.threads = 3;
  s.metric = MetricKind::dense;
  const RunSettings r = resolve(s, 10);
  EXPECT_EQ(r.step_size, 0.5);
  EXPECT_EQ(r.target_acceptance, 0.4);
  EXPECT_EQ(r.warmup, 0u);
  EXPECT_EQ(r.thin, 7u);
  EXPECT_EQ(r.seed, 99u);
  EXPECT_EQ(r.threads, 3u);
  EXPECT_EQ(r.metric, MetricKind::dense);
}

TEST(Resolve, AFixedStepSizeMeansNoMetricUnlessAsked) {
  RunSettings s;
  s.step_size = 0.5;
  EXPECT_EQ(resolve(s, 10).metric, MetricKind::none);
}

TEST(Resolve, KeepsThreadsThatHelpWithinChains) {
  RunSettings s{.sampler = "rwm"};
  s.chains = 2;
  s.threads = 64;
  EXPECT_EQ(resolve(s, 10).threads, 64u);
  s.threads = 0;
  EXPECT_GE(resolve(s, 10).threads, 1u);
}

TEST(Resolve, SeedsOfTheSystemDiffer) {
  EXPECT_NE(*resolve(named(), 3).seed, *resolve(named(), 3).seed);  // equal once in 2^31 calls
}

TEST(Resolve, IsDoneOnce) {
  RunSettings s = named();
  s.seed = 1;
  const RunSettings once = resolve(s, 10), twice = resolve(once, 10);
  EXPECT_EQ(once.warmup, twice.warmup);
  EXPECT_EQ(once.thin, twice.thin);
  EXPECT_EQ(once.seed, twice.seed);
}

TEST(Resolve, RefusesWhatMakesNoSenseAndNamesFieldAndValue) {
  struct Case {
    std::function<void(RunSettings&)> spoil;
    const char* field;
    const char* value;
  };
  const auto given = [](std::vector<double> position) {
    return [position](RunSettings& s) {
      s.start.kind = Start::Kind::given;
      s.start.position = position;
    };
  };
  const std::vector<Case> cases{
      {[](auto& s) {
         s.start.kind = Start::Kind::given;
         s.start.position = std::vector<double>(3);
         s.start.spread = {1, 2};
       },
       "spread", "2"},
      {[](auto& s) { s.chains = 0; }, "chains", "0"},
      {[](auto& s) { s.draws = 0; }, "draws", "0"},
      {[](auto& s) { s.thin = 0; }, "thin", "0"},
      {[](auto& s) { s.step_size = 0; }, "step size", "0"},
      {[](auto& s) { s.step_size = -0.25; }, "step size", "-0.25"},
      {[](auto& s) { s.step_size = nan; }, "step size", "nan"},
      {[](auto& s) { s.step_size = inf; }, "step size", "inf"},
      {[](auto& s) { s.temperature = 0; }, "temperature", "0"},
      {[](auto& s) { s.temperature = -3; }, "temperature", "-3"},
      {[](auto& s) { s.temperature = nan; }, "temperature", "nan"},
      {[](auto& s) { s.temperature = inf; }, "temperature", "inf"},
      {[](auto& s) { s.sampler_options["curvature_floor"] = -1; }, "curvature_floor", "-1"},
      {[](auto& s) { s.sampler_options["curvature_floor"] = nan; }, "curvature_floor", "nan"},
      {[](auto& s) { s.max_seconds = -5; }, "max seconds", "-5"},
      {[](auto& s) { s.max_seconds = nan; }, "max seconds", "nan"},
      {[](auto& s) { s.target_acceptance = 0; }, "target acceptance", "0"},
      {[](auto& s) { s.target_acceptance = 1; }, "target acceptance", "1"},
      {[](auto& s) { s.target_acceptance = 1.5; }, "target acceptance", "1.5"},
      {[](auto& s) { s.target_acceptance = nan; }, "target acceptance", "nan"},
      {[](auto& s) { s.start.scale = -2; }, "start scale", "-2"},
      {[](auto& s) { s.start.scale = nan; }, "start scale", "nan"},
      {given({1, 2}), "start", "2 entries"},
      {given({1, nan, 2}), "entry 2 of the start", "nan"},
      {given({1, 2, -inf}), "entry 3 of the start", "-inf"},
      {[](auto& s) { s.sampler = "pc-line-fmla"; }, "'pc-line-fmla'", "Did you mean pc-line-fmala?"},
      {[](auto& s) { s.sampler_options["relaxation"] = 0; }, "relaxation", "0"},
      {[](auto& s) { s.sampler_options["relaxation"] = 2; }, "relaxation", "2"},
      {[](auto& s) { s.sampler_options["relaxation"] = -1; }, "relaxation", "-1"},
      {[](auto& s) { s.sampler_options["relaxation"] = nan; }, "relaxation", "nan"},
      {[](auto& s) { s.sampler_options["inner"] = 0; }, "inner", "0"},
      {[](auto& s) { s.draws = std::size_t{1} << 60; }, "steps a chain", "fewer draws"},
  };
  EXPECT_NO_THROW(resolve(named(), 3));
  for (const Case& c : cases) {
    RunSettings s = named();
    c.spoil(s);
    try {
      resolve(s, 3);
      ADD_FAILURE() << c.field << " " << c.value << " was taken";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(c.field), HasSubstr(c.value)));
    }
  }
  EXPECT_THROW(resolve(named(), 0), UsageError);
}

TEST(Resolve, RefusesADenseMetricThatCannotFit) {
  RunSettings s = named();
  s.metric = MetricKind::dense;
  EXPECT_NO_THROW(resolve(s, 100));
  EXPECT_THROW(resolve(s, 10'000'000), UsageError);
}

}  // namespace
}  // namespace onward
