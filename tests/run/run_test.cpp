// Runs: the same bits for any number of threads, starts that are found or explained, models that fail now and
// then, runs that end early, and listeners.

#include "onward/run/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numbers>
#include <stdexcept>
#include <thread>
#include <vector>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Correlated, not normal, cheap.
struct Bent {
  template <class T>
  T operator()(std::span<const T> t) const {
    T sum = t[0] * t[0];
    for (std::size_t i = 1; i < t.size(); ++i) {
      const T d = t[i] - 0.3 * t[i - 1] * t[i - 1];
      sum += d * d;
    }
    return -0.5 * sum;
  }
};

struct StandardNormal {
  template <class T>
  T operator()(std::span<const T> t) const {
    T sum = t[0] * t[0];
    for (std::size_t i = 1; i < t.size(); ++i) sum += t[i] * t[i];
    return -0.5 * sum;
  }
};

/// A standard normal in one dimension with jets and gradients, to be spoiled.
struct PlainNormal {
  static std::size_t dimension() { return 1; }
  static Jet jet(VectorView theta, VectorView v, Order order) {
    const double x = theta[0];
    if (order == Order::value) return {-0.5 * x * x, 0, 0};
    return {-0.5 * x * x, -x * v[0], order == Order::curvature ? -v[0] * v[0] : 0};
  }
  static double gradient(VectorView theta, std::span<double> out) {
    out[0] = -theta[0];
    return -0.5 * theta[0] * theta[0];
  }
};

RunSettings quick(std::string sampler = "pc-line-fmala") {
  RunSettings s;
  s.sampler = std::move(sampler);
  s.seed = 7;
  s.warmup = 200;
  s.draws = 50;
  s.thin = 1;
  return s;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

bool same_draws(const Run& a, const Run& b) {
  bool same = a.chains.size() == b.chains.size();
  for (std::size_t c = 0; same && c < a.chains.size(); ++c)
    same = same_bits(a.chains[c].values, b.chains[c].values) &&
           same_bits(a.chains[c].log_density, b.chains[c].log_density);
  return same;
}

/// Mean of f over all draws of a parameter within 5 Monte Carlo standard errors: a false alarm once in 2
/// million.
template <class F>
void expect_mean(const Run& run, std::size_t parameter, F f, double expected, const std::string& what) {
  Chains chains = run.parameter(parameter);
  for (auto& chain : chains)
    for (double& x : chain) x = f(x);
  const ParameterSummary s = summarise("f", chains);
  ASSERT_GT(s.ess_bulk, 400) << what;
  EXPECT_NEAR(s.mean, expected, 5 * s.mcse_mean) << what;
}

const auto itself = [](double x) { return x; };
const auto square = [](double x) { return x * x; };

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

// --- models that fail now and then

TEST(Run, ATruncationByNaNIsSampledRight) {
  struct Half : PlainNormal {
    static Jet jet(VectorView theta, VectorView v, Order order) {
      return theta[0] > 0 ? PlainNormal::jet(theta, v, order) : Jet{nan, nan, nan};
    }
    static double gradient(VectorView theta, std::span<double> out) {
      return theta[0] > 0 ? PlainNormal::gradient(theta, out) : nan;
    }
  };
  for (const auto& info : samplers()) {
    RunSettings s = quick(std::string(info.name));
    s.warmup = 1000;
    s.draws = 2000;
    s.thin = 10;
    const auto run = sample(Half{}, s);
    EXPECT_GT(run.counts().nonfinite, 0u) << info.name;
    EXPECT_EQ(run.counts().threw, 0u);
    expect_mean(run, 0, itself, std::sqrt(2 / std::numbers::pi), std::string(info.name) + ", mean");
    expect_mean(run, 0, square, 1, std::string(info.name) + ", square");
  }
}

/// Fails at every third question, wherever that is: as often at the place of the chain as at the proposal.
template <class Failure>
struct Moody : PlainNormal {
  unsigned asked = 0;
  bool fails() { return (++asked * 2654435769U >> 16) % 3 == 0; }
  Jet jet(VectorView theta, VectorView v, Order order) {
    return fails() ? Failure::fail() : PlainNormal::jet(theta, v, order);
  }
  double gradient(VectorView theta, std::span<double> out) {
    return fails() ? Failure::fail().value : PlainNormal::gradient(theta, out);
  }
};
struct ByNaN {
  static Jet fail() { return {nan, nan, nan}; }
};
struct ByThrowing {
  static Jet fail() { throw std::domain_error("the solver did not converge"); }
};

template <class Failure>
void expect_moody_is_right(std::uint64_t& threw) {
  for (const auto& info : samplers()) {
    RunSettings s = quick(std::string(info.name));
    if (info.tuned) s.step_size = 1.5;
    s.metric = MetricKind::none;
    s.draws = 2000;
    s.thin = 10;
    const auto run = sample(Moody<Failure>{}, s);
    EXPECT_GT(run.counts().nonfinite, 10'000u) << info.name;
    threw = run.counts().threw;
    expect_mean(run, 0, itself, 0, std::string(info.name) + ", mean");
    expect_mean(run, 0, square, 1, std::string(info.name) + ", square");
    for (const auto& chain : run.chains)
      for (const double x : chain.values) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(Run, AModelThatIsNaNNowAndThenIsSampledRight) {
  std::uint64_t threw = 1;
  expect_moody_is_right<ByNaN>(threw);
  EXPECT_EQ(threw, 0u);
}

TEST(Run, AModelThatThrowsNowAndThenIsSampledRight) {
  std::uint64_t threw = 0;
  expect_moody_is_right<ByThrowing>(threw);
  EXPECT_GT(threw, 10'000u);
  RunSettings s = quick();
  s.step_size = 1.5;
  EXPECT_EQ(sample(Moody<ByThrowing>{}, s).counts().first_message, "the solver did not converge");
}

TEST(Run, AModelWithoutSlopesInSomeDirectionsIsSampledRight) {
  // Where a chain stands there may be no slope along the direction at hand; to leave such a place at will,
  // while it cannot be entered, would be wrong.
  struct OneWay : PlainNormal {
    static Jet jet(VectorView theta, VectorView v, Order order) {
      const bool blind = order != Order::value && v[0] < 0 && theta[0] > 0 && theta[0] < 1;
      return blind ? Jet{PlainNormal::jet(theta, v, order).value, nan, nan}
                   : PlainNormal::jet(theta, v, order);
    }
  };
  for (const char* sampler : {"fmala", "line-fmala", "pc-fmala", "pc-line-fmala", "newton-line"}) {
    RunSettings s = quick(sampler);
    if (find_sampler(sampler).tuned) s.step_size = 1.0;
    s.metric = MetricKind::none;
    s.draws = 2000;
    s.thin = 10;
    const auto run = sample(OneWay{}, s);
    expect_mean(run, 0, itself, 0, std::string(sampler) + ", mean");
    expect_mean(run, 0, square, 1, std::string(sampler) + ", square");
  }
}

TEST(Run, WantOfMemoryEndsTheRun) {
  struct Hungry : PlainNormal {
    int asked = 0;
    Jet jet(VectorView theta, VectorView v, Order order) {
      if (++asked > 100) throw std::bad_alloc();
      return PlainNormal::jet(theta, v, order);
    }
  };
  EXPECT_THROW(sample(Hungry{}, quick()), std::bad_alloc);
}

TEST(Run, TemperatureIsTheVarianceOfAStandardNormal) {
  for (const double temperature : {0.25, 4.0}) {
    RunSettings s = quick();
    s.temperature = temperature;
    s.warmup = 1000;
    s.draws = 2000;
    s.thin = 5;
    const auto run = sample(target(2, StandardNormal{}), s);
    for (std::size_t i = 0; i < 2; ++i) {
      expect_mean(run, i, itself, 0, "mean");
      expect_mean(run, i, square, temperature, "square");
    }
    const double* x = run.chains[0].values.data();
    EXPECT_NEAR(run.chains[0].log_density[0], -0.5 * (x[0] * x[0] + x[1] * x[1]) / temperature, 1e-12)
        << "the log density reported is that of what is sampled";
  }
}

// --- ending early

/// Slow enough that a run is still under way when it is to end.
struct Slow : PlainNormal {
  static Jet jet(VectorView theta, VectorView v, Order order) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    return PlainNormal::jet(theta, v, order);
  }
};

RunSettings endless() {
  RunSettings s = quick("rwm");
  s.step_size = 1;
  s.warmup = 10;
  s.draws = 1'000'000'000'000;
  s.threads = 4;
  return s;
}

void expect_valid_part(const Run& run) {
  EXPECT_EQ(run.chains.size(), 4u);
  EXPECT_GT(run.draws(), 0u);
  for (const auto& chain : run.chains) {
    EXPECT_LT(chain.draws, run.settings.draws);
    EXPECT_EQ(chain.values.size(), chain.draws);
    EXPECT_EQ(chain.log_density.size(), chain.draws);
    for (std::size_t d = 0; d < chain.draws; ++d)
      EXPECT_DOUBLE_EQ(chain.log_density[d], -0.5 * chain.values[d] * chain.values[d]);
    EXPECT_GT(chain.acceptance, 0);
  }
  EXPECT_EQ(run.parameter(0).size(), 4u);
}

/// Sets a flag once every chain has given a draw.
struct StopAfterFirstDraws : Sink {
  std::atomic<bool> stop{false};
  std::atomic<int> chains{0};
  bool seen[4] = {};
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw&) override {
    if (!seen[chain]) {
      seen[chain] = true;
      if (++chains == 4) stop = true;
    }
  }
  void finished(std::size_t) override {}
};

TEST(Run, AnInterruptionLeavesAValidPart) {
  StopAfterFirstDraws listener;
  Hooks hooks;
  hooks.sinks = {&listener};
  hooks.stop = &listener.stop;
  const auto run = sample(Slow{}, endless(), hooks);
  EXPECT_EQ(run.ending, Ending::interrupted);
  expect_valid_part(run);

  RunSettings same = endless();
  same.draws = run.draws();
  const auto whole = sample(PlainNormal{}, same);
  for (std::size_t d = 0; d < run.draws(); ++d)
    EXPECT_EQ(run.chains[1].values[d], whole.chains[1].values[d]) << "a part of another run";
}

TEST(Run, ATimeLimitLeavesAValidPart) {
  RunSettings s = endless();
  s.max_seconds = 0.2;
  const auto run = sample(Slow{}, s);
  EXPECT_EQ(run.ending, Ending::time_limit);
  expect_valid_part(run);
}

TEST(Run, TimeThatWasUsedBeforeCountsTowardsItsLimit) {
  RunSettings s;
  s.sampler = "rwm";
  s.draws = 1'000'000'000;
  s.max_seconds = 3600;
  Hooks hooks;
  hooks.seconds_used = 3600;
  hooks.keep_draws = false;
  const auto run = sample(target(1, [](const auto& t) { return -t[0] * t[0]; }), s, hooks);
  EXPECT_EQ(run.ending, Ending::time_limit);
}

TEST(Run, ChainsTakeTurnsOnOneThread) {
  struct Listener : Sink {
    std::atomic<int> ended{0};
    void warmed_up(std::size_t, double, const Metric&) override {}
    void drawn(std::size_t, const Draw&) override {}
    void finished(std::size_t) override { ++ended; }
  } listener;
  Hooks hooks;
  hooks.sinks = {&listener};
  RunSettings s = endless();
  s.threads = 1;
  s.max_seconds = 1.5;
  const auto run = sample(Slow{}, s, hooks);
  EXPECT_EQ(run.ending, Ending::time_limit);
  for (const auto& chain : run.chains) EXPECT_GT(chain.draws, 0u) << "a chain did not get its turn";
  EXPECT_EQ(listener.ended, 4);
}

TEST(Run, InterruptedDuringWarmUpHasNoDraws) {
  std::atomic<bool> stop{true};
  Hooks hooks;
  hooks.stop = &stop;
  RunSettings s = endless();
  s.warmup = 1'000'000'000;
  const auto run = sample(Slow{}, s, hooks);
  EXPECT_EQ(run.ending, Ending::interrupted);
  EXPECT_EQ(run.draws(), 0u);
}

// --- listeners and progress

struct Recorder : Sink {
  std::vector<std::vector<double>> values{4}, log_density{4};
  std::vector<double> step_size = std::vector<double>(4), acceptance = std::vector<double>(4);
  std::vector<int> warmed = std::vector<int>(4), ended = std::vector<int>(4);
  std::vector<MetricKind> metric = std::vector<MetricKind>(4);
  void warmed_up(std::size_t chain, double size, const Metric& m) override {
    EXPECT_TRUE(values[chain].empty()) << "a draw before the end of warm-up";
    ++warmed[chain];
    step_size[chain] = size;
    metric[chain] = m.kind();
  }
  void drawn(std::size_t chain, const Draw& draw) override {
    values[chain].insert(values[chain].end(), draw.parameters.begin(), draw.parameters.end());
    log_density[chain].push_back(draw.log_density);
    // These targets' parameters are what is sampled.
    EXPECT_TRUE(std::ranges::equal(draw.position, draw.parameters));
    acceptance[chain] += draw.acceptance;
    EXPECT_EQ(draw.step_size, step_size[chain]);
    EXPECT_EQ(ended[chain], 0);
  }
  void finished(std::size_t chain) override { ++ended[chain]; }
};

TEST(Listener, GetsExactlyTheDrawsThatAreKept) {
  Recorder recorder;
  Hooks hooks;
  hooks.sinks = {&recorder};
  RunSettings s = quick();
  s.thin = 3;
  s.threads = 2;
  s.metric = MetricKind::diag;
  const auto run = sample(target(3, Bent{}), s, hooks);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_TRUE(same_bits(recorder.values[c], run.chains[c].values));
    EXPECT_TRUE(same_bits(recorder.log_density[c], run.chains[c].log_density));
    EXPECT_EQ(recorder.step_size[c], run.chains[c].step_size);
    EXPECT_EQ(recorder.metric[c], MetricKind::diag);
    EXPECT_NEAR(recorder.acceptance[c] / 50, run.chains[c].acceptance, 1e-12);
    EXPECT_EQ(recorder.warmed[c], 1);
    EXPECT_EQ(recorder.ended[c], 1);
  }
}

TEST(Listener, CanBeTheOnlyOneWhoKeepsDraws) {
  Recorder recorder;
  Hooks hooks;
  hooks.sinks = {&recorder};
  hooks.keep_draws = false;
  const auto run = sample(target(3, Bent{}), quick(), hooks);
  EXPECT_TRUE(run.chains[0].values.empty());
  EXPECT_EQ(run.draws(), 50u);
  EXPECT_TRUE(same_bits(recorder.values[2], sample(target(3, Bent{}), quick()).chains[2].values));
  EXPECT_THROW(run.parameter(0), Error);
}

TEST(Listener, WhatItThrowsIsPassedOnAndChainsStop) {
  struct FullDisk : Sink {
    std::atomic<int> draws{0};
    void warmed_up(std::size_t, double, const Metric&) override {}
    void drawn(std::size_t chain, const Draw&) override {
      ++draws;
      if (chain == 1) throw Error("no space left on device");
    }
    void finished(std::size_t) override {}
  } listener;
  Hooks hooks;
  hooks.sinks = {&listener};
  try {
    sample(Slow{}, endless(), hooks);  // returns at all only if the other chains stop
    FAIL() << "the exception was lost";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "no space left on device");
  }
  EXPECT_GT(listener.draws, 0);
}

TEST(ProgressHook, EndsWithEverythingDone) {
  std::vector<Progress> seen;
  Hooks hooks;
  hooks.progress = [&](const Progress& p) { seen.push_back(p); };
  const auto run = sample(target(3, Bent{}), quick(), hooks);
  ASSERT_FALSE(seen.empty());
  const Progress& last = seen.back();
  EXPECT_EQ(last.steps_total, 4 * 250u);
  EXPECT_EQ(last.steps_done, last.steps_total);
  EXPECT_EQ(last.chains_done, 4u);
  EXPECT_EQ(last.chains_warming + last.chains_sampling, 0u);
  EXPECT_EQ(last.seconds_left, 0);
  EXPECT_GT(last.acceptance, 0.3);
  EXPECT_LE(last.acceptance, 1);
  EXPECT_GT(run.steps_per_second(), 0);
}

TEST(ProgressHook, WhatItThrowsIsPassedOnAndChainsStop) {
  Hooks hooks;
  hooks.progress = [](const Progress&) { throw std::runtime_error("broken pipe"); };
  try {
    sample(Slow{}, endless(), hooks);
    FAIL() << "the exception was lost";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "broken pipe");
  }
}

}  // namespace
}  // namespace onward
