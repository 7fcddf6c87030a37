// Runs: the same bits for any number of threads, and starts that are found or explained.

#include "onward/run/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"
#include "run_cases.hpp"

namespace onward {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// --- repeatable

TEST(Run, HasTheSameBitsForAnyNumberOfThreadsAndASecondTime) {
  const AnyTarget t = target(5, Bent{});
  for (const auto& info : samplers()) {
    for (const auto metric : {MetricKind::diag, MetricKind::dense, MetricKind::lowrank}) {
      RunSettings s = quick(std::string(info.name));
      s.metric = metric;
      s.threads = 1;
      const auto one = sample(t, s);
      ASSERT_EQ(one.draws(), 50u);
      for (const std::size_t threads : {2, 4, 1}) {
        s.threads = threads;
        EXPECT_TRUE(same_draws(one, sample(t, s))) << info.name << " on " << threads << " threads";
      }
    }
  }
}

TEST(Run, SecondsOfSamplingAreNotThoseOfWarmUp) {
  RunSettings s = quick("line-fmala");
  s.step_size = 0.1;
  s.warmup = 0;
  s.draws = 5;  // all within one slice
  s.thin = 1;
  const auto run = sample(target(50,
                                 [](const auto& t) {
                                   std::this_thread::sleep_for(std::chrono::microseconds(200));
                                   return -0.5 * t[0] * t[0];
                                 }),
                          s);
  EXPECT_GT(run.sampling_seconds, run.warmup_seconds);
}

TEST(Run, DependsOnTheSeed) {
  RunSettings s = quick(), other = quick();
  other.seed = 8;
  const AnyTarget t = target(3, Bent{});
  EXPECT_FALSE(same_draws(sample(t, s), sample(t, other)));
}

TEST(Run, ChainsDifferAndDoNotDependOnHowManyThereAre) {
  RunSettings s = quick(), fewer = quick();
  s.chains = 4;
  fewer.chains = 2;
  const AnyTarget t = target(3, Bent{});
  const auto four = sample(t, s), two = sample(t, fewer);
  for (std::size_t c = 0; c < 2; ++c)
    EXPECT_TRUE(same_bits(four.chains[c].values, two.chains[c].values)) << "chain " << c + 1;
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_FALSE(same_bits(four.chains[a].values, four.chains[b].values)) << a + 1 << " and " << b + 1;
}

TEST(Run, ThinnedDrawsAreEveryKthDraw) {
  const AnyTarget t = target(3, Bent{});
  RunSettings all = quick(), thinned = quick();
  all.draws = 60;
  thinned.draws = 20;
  thinned.thin = 3;
  const auto every = sample(t, all), third = sample(t, thinned);
  for (std::size_t c = 0; c < 4; ++c) {
    for (std::size_t d = 0; d < 20; ++d) {
      EXPECT_EQ(third.chains[c].log_density[d], every.chains[c].log_density[3 * d + 2]);
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(third.chains[c].values[3 * d + i], every.chains[c].values[3 * (3 * d + 2) + i]);
    }
    EXPECT_EQ(third.chains[c].sampling_steps, 60u);
  }
}

TEST(Run, KeepsTheTargetsCountsAndTheStepSize) {
  RunSettings s = quick("line-fmala");
  s.step_size = 0.4;
  s.sampler_options["tangent"] = "fresh";
  const auto run = sample(target(3, Bent{}), s);
  for (const auto& chain : run.chains) {
    EXPECT_EQ(chain.step_size, 0.4);
    EXPECT_EQ(chain.counts.jets(), 1 + 2 * (200 + 50u)) << "one at the start, two a step";
    EXPECT_EQ(chain.counts.nonfinite, 0u);
    EXPECT_GT(chain.acceptance, 0.5);
    EXPECT_LE(chain.acceptance, 1);
  }
  EXPECT_EQ(run.counts().jets(), 4 * 501u);
  EXPECT_EQ(run.ending, Ending::complete);
}

TEST(Run, KeptTangentsGiveLineKernelsTheSameDrawsForFewerEvaluations) {
  for (const std::string sampler : {"line-fmala", "pc-line-fmala", "newton-line"}) {
    RunSettings s = quick(sampler), fresh = quick(sampler);
    s.warmup = fresh.warmup = 600;
    fresh.sampler_options["tangent"] = "fresh";
    const AnyTarget t = target(4, Bent{});
    const auto once = sample(t, s), twice = sample(t, fresh);
    EXPECT_TRUE(same_draws(once, twice)) << sampler;
    EXPECT_LT(once.counts().jets(), twice.counts().jets() * 3 / 4) << sampler;
    EXPECT_EQ(twice.counts().slope_pairs + twice.counts().curvature_pairs, 0u) << sampler;
  }
}

TEST(Run, KeptTangentsGiveFmalaHalfTheEvaluations) {
  for (const std::string sampler : {"fmala", "pc-fmala"}) {
    RunSettings s = quick(sampler), fresh = quick(sampler);
    s.step_size = fresh.step_size = 0.3;
    fresh.sampler_options["tangent"] = "fresh";
    const AnyTarget t = target(4, Bent{});
    const auto once = sample(t, s), twice = sample(t, fresh);
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(twice.chains[c].counts.jets(), 1 + 2 * 250u);
      EXPECT_EQ(once.chains[c].counts.jets(), 2 + 250u + 250 / tangent_life) << sampler;
    }
  }
}

TEST(Run, TakesDirectionsFromTheSourceThatWasAskedFor) {
  const AnyTarget t = target(3, Bent{}, {"a", "b.1", "b.2"});
  RunSettings s = quick("newton-line");
  s.metric = MetricKind::none;
  s.warmup = 0;
  for (const std::string source : {"sphere", "frames", "axes", "blocks", "frames*2+axes"}) {
    s.directions = source;
    const auto run = sample(t, s);
    EXPECT_EQ(run.settings.directions, source);
    int along_axes = 0, within_b = 0, moves = 0;
    const auto& x = run.chains[0].values;
    for (std::size_t d = 1; d < 50; ++d) {
      int changed = 0;
      for (std::size_t i = 0; i < 3; ++i) changed += x[3 * d + i] != x[3 * d - 3 + i] ? 1 : 0;
      moves += changed > 0 ? 1 : 0;
      along_axes += changed == 1 ? 1 : 0;
      within_b += changed == 2 && x[3 * d] == x[3 * d - 3] ? 1 : 0;
    }
    ASSERT_GT(moves, 20) << source;
    EXPECT_EQ(along_axes == moves, source == "axes") << source;
    EXPECT_EQ(along_axes > 0, source != "sphere" && source != "frames") << source;
    EXPECT_EQ(within_b > 0, source == "blocks") << source;
  }
  s.directions = "auto";
  EXPECT_EQ(sample(t, s).settings.directions, "frames");
}

TEST(Run, RefusesDirectionsBeforeItStarts) {
  const auto refused = [](const RunSettings& s, const char* words) {
    try {
      sample(target(3, Bent{}), s);
      ADD_FAILURE() << s.directions << " was taken";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr(words));
    }
  };
  RunSettings s = quick("fmala");
  s.directions = "axes";
  refused(s, "not exact");
  s.directions = "frames";
  refused(s, "`tangent` fresh");
  s.sampler_options["tangent"] = "fresh";
  EXPECT_EQ(sample(target(3, Bent{}), s).draws(), 50u);
  s.directions = "circle";
  refused(s, "'circle'");
}

TEST(Run, MalaAsPublishedGivesTheSameDrawsForTwiceTheGradients) {
  RunSettings s = quick("mala"), published = quick("mala");
  s.step_size = published.step_size = 0.5;  // no search, so that gradients can be counted
  published.sampler_options["as_published"] = true;
  const AnyTarget t = target(4, Bent{});
  const auto kept = sample(t, s), twice = sample(t, published);
  EXPECT_TRUE(same_draws(kept, twice));
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(kept.chains[c].counts.gradients, 1 + 250u);
    EXPECT_EQ(twice.chains[c].counts.gradients, 1 + 500u);
  }
}

TEST(Run, MalaAsksForAGradientBeforeItStarts) {
  struct NoGradient {
    static std::size_t dimension() { return 1; }
    static Jet jet(VectorView t, VectorView v, Order o) { return PlainNormal::jet(t, v, o); }
  };
  try {
    sample(NoGradient{}, quick("mala"));
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("mala"), HasSubstr("gradient"), HasSubstr("pc-line-fmala")));
  }
  EXPECT_EQ(sample(NoGradient{}, quick("rwm")).draws(), 50u);
}

TEST(Run, ReportsConstrainedParameters) {
  const auto t =
      target(Parameters{}.positive("tau").simplex("p", 3), [](auto tau, auto p) { return -tau + log(p[0]); });
  const auto run = sample(t, quick());
  EXPECT_EQ(run.dimension, 3u);
  EXPECT_EQ(run.names.size(), 4u);
  for (std::size_t d = 0; d < 50; ++d) {
    const double* x = &run.chains[0].values[4 * d];
    EXPECT_GT(x[0], 0);
    EXPECT_NEAR(x[1] + x[2] + x[3], 1, 1e-12);
  }
}

// --- starts

TEST(Start, WithoutDensityAnywhereIsExplained) {
  const AnyTarget nowhere = target(2, [](const auto& t) { return -inf + 0.0 * t[0]; });
  try {
    sample(nowhere, quick());
    FAIL() << "it ran";
  } catch (const UsageError&) {
    FAIL() << "the request was not at fault";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("cannot start"), HasSubstr("not finite"), HasSubstr("Give a start"),
                                HasSubstr("100 random places")));
  }
}

TEST(Start, PassesOnTheModelsOwnWords) {
  struct Throws : PlainNormal {
    static Jet jet(VectorView, VectorView, Order) { throw std::domain_error("sigma must be positive"); }
  };
  try {
    sample(Throws{}, quick());
    FAIL() << "it ran";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("sigma must be positive"), HasSubstr("Give a start")));
  }
}

TEST(Start, NeedsAGradientForMala) {
  struct NoSlope : PlainNormal {
    static double gradient(VectorView, std::span<double>) { return nan; }
  };
  EXPECT_THROW(sample(NoSlope{}, quick("mala")), Error);
}

TEST(Start, IsTriedAgainUntilThereIsDensity) {
  // One random start in 40 lies in the corner.
  const AnyTarget corner = target(2, [](const auto& t) {
    const bool inside = value_of(t[0]) > 1 && value_of(t[1]) > 1;
    return (inside ? 0.0 : nan) - t[0] - t[1];
  });
  const auto run = sample(corner, quick());
  for (const auto& chain : run.chains) {
    EXPECT_GT(chain.counts.nonfinite, 0u);
    for (const double x : chain.values) EXPECT_GT(x, 1);
  }
}

TEST(Start, ZerosAndGivenPlacesAreWhereChainsBegin) {
  RunSettings s = quick("rwm");
  s.step_size = 1e-12;  // so small that the first draw is the start
  s.warmup = 0;
  s.draws = 1;
  s.start.kind = Start::Kind::zeros;
  const AnyTarget t = target(2, StandardNormal{});
  const auto at_zero = sample(t, s);
  for (const double x : at_zero.chains[3].values) EXPECT_NEAR(x, 0, 1e-10);
  s.start.kind = Start::Kind::given;
  s.start.position = {0.5, -0.25};
  const auto at_given = sample(t, s);
  EXPECT_NEAR(at_given.chains[2].values[0], 0.5, 1e-10);
  EXPECT_NEAR(at_given.chains[2].values[1], -0.25, 1e-10);
}

TEST(Start, PlacesAboutAGivenOneDifferByChain) {
  RunSettings s = quick("rwm");
  s.step_size = 1e-12;
  s.warmup = 0;
  s.draws = 1;
  s.chains = 400;
  s.start.kind = Start::Kind::given;
  s.start.position = {3, -1};
  s.start.spread = {0, 2};
  const auto run = sample(target(2, [](const auto& t) { return 0.0 * t[0]; }), s);
  double sum = 0, squares = 0;
  for (const auto& chain : run.chains) {
    EXPECT_NEAR(chain.values[0], 3, 1e-9);
    const double z = (chain.values[1] + 1) / 2;
    sum += z / 400;
    squares += z * z / 400;
  }
  EXPECT_NEAR(sum, 0, 5 / std::sqrt(400.0));
  EXPECT_NEAR(squares, 1, 5 * std::sqrt(2.0 / 400));
}

TEST(Start, RandomOnesHaveTheScaleAsked) {
  RunSettings s = quick("rwm");
  s.step_size = 1e-12;
  s.warmup = 0;
  s.draws = 1;
  s.chains = 400;
  s.start.scale = 100;
  const auto run = sample(target(1, [](const auto& t) { return 0.0 * t[0]; }), s);
  double squares = 0;
  for (const auto& chain : run.chains) squares += chain.values[0] * chain.values[0] / 1e4;
  EXPECT_NEAR(squares / 400, 1, 5 * std::sqrt(2.0 / 400));  // sd of a mean of 400 chi-square(1)
}

}  // namespace
}  // namespace onward
