// Chains that get lost: at the end of the first stretch of warm-up they are compared, and one that is where
// there is hardly any mass goes on from where another one is. A run without time for its warm-up cuts it
// short.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "onward/run/run.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

/// Two hills of equal shape, far apart, with these weights as logarithms.
auto two_hills(double left, double right) {
  return target(2, [left, right](const auto& t) {
    using std::exp, std::log;
    const auto hill = [&](double at) { return -0.5 * ((t[0] - at) * (t[0] - at) + t[1] * t[1]); };
    const auto a = left + hill(-20), b = right + hill(20);
    const bool first = value_of(a) > value_of(b);
    return first ? a + log(1.0 + exp(b - a)) : b + log(1.0 + exp(a - b));
  });
}

RunSettings from_afar(const char* sampler) {
  RunSettings s;
  s.sampler = sampler;
  s.start.scale = 20;
  s.chains = 6;
  s.draws = 50;
  s.seed = 3;
  return s;
}

std::size_t joined(const Run& run) {
  return static_cast<std::size_t>(std::ranges::count_if(run.chains, &ChainRecord::joined));
}

class Arrival : public testing::TestWithParam<const char*> {};

TEST_P(Arrival, AChainWithoutMassJoinsOneWithIt) {
  const onward::Run run = sample(two_hills(0, -100), from_afar(GetParam()));
  EXPECT_GT(joined(run), 0u) << "all began on the right hill: the test shows nothing";
  EXPECT_LT(joined(run), 6u);
  for (const auto& chain : run.chains)
    for (std::size_t n = 0; n < chain.values.size(); n += 2) EXPECT_LT(chain.values[n], 0);
  EXPECT_THAT(run.report(), testing::HasSubstr("lagged behind"));
}

TEST_P(Arrival, ChainsOnHillsOfEqualMassStayAndAreWarnedOf) {
  const onward::Run run = sample(two_hills(0, 0), from_afar(GetParam()));
  EXPECT_EQ(joined(run), 0u);
  EXPECT_FALSE(run.warnings().empty());
}

TEST_P(Arrival, DoesNotDependOnThreads) {
  RunSettings s = from_afar(GetParam());
  s.threads = 1;
  const onward::Run one = sample(two_hills(0, -100), s);
  s.threads = 3;
  const onward::Run three = sample(two_hills(0, -100), s);
  for (std::size_t c = 0; c < one.chains.size(); ++c) {
    EXPECT_EQ(one.chains[c].values, three.chains[c].values) << c;
    EXPECT_EQ(one.chains[c].joined, three.chains[c].joined) << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, Arrival, testing::Values("nuts", "newton-line", "rwm"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::erase(name, '-');
                           return name;
                         });

/// A normal that takes its time.
struct Slow {
  static std::size_t dimension() { return 3; }
  Jet jet(VectorView x, VectorView v, Order order) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Jet jet{0, 0, 0};
    for (std::size_t i = 0; i < 3; ++i) {
      jet.value -= 0.5 * x[i] * x[i];
      if (order != Order::value) jet.slope -= x[i] * v[i];
      if (order == Order::curvature) jet.curvature -= v[i] * v[i];
    }
    return jet;
  }
  double gradient(VectorView x, std::span<double> out) const {
    for (std::size_t i = 0; i < 3; ++i) out[i] = -x[i];
    return jet(x, {}, Order::value).value;
  }
};

TEST(Hurry, ARunWithoutTimeForItsWarmUpHasDraws) {
  for (const char* sampler : {"auto", "newton-line"}) {
    RunSettings s;
    s.sampler = sampler;
    s.warmup = 1'000'000;
    s.draws = 1'000'000;
    s.thin = 1;
    s.max_seconds = 2;
    s.seed = 1;
    const onward::Run run = sample(Slow{}, s);
    EXPECT_EQ(run.ending, Ending::time_limit) << sampler;
    EXPECT_GT(run.draws(), 0u) << sampler;
    for (const auto& chain : run.chains) EXPECT_LT(chain.warmup_steps, 1'000'000u) << sampler;
  }
}

}  // namespace
}  // namespace onward
