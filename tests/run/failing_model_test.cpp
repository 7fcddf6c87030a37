// Models that fail now and then, by NaN or by throwing: what is left of them is sampled right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"
#include "run_cases.hpp"

namespace onward {
namespace {

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
    expect_mean(run, 0, squared, 1, std::string(info.name) + ", squared");
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
    expect_mean(run, 0, squared, 1, std::string(info.name) + ", squared");
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
    expect_mean(run, 0, squared, 1, std::string(sampler) + ", squared");
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
      expect_mean(run, i, squared, temperature, "squared");
    }
    const double* x = run.chains[0].values.data();
    EXPECT_NEAR(run.chains[0].log_density[0], -0.5 * (x[0] * x[0] + x[1] * x[1]) / temperature, 1e-12)
        << "the log density reported is that of what is sampled";
  }
}

}  // namespace
}  // namespace onward
