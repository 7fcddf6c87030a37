// Runs that end early, and those who listen to runs: draws, progress, and what listeners throw.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "onward/error.hpp"
#include "onward/target/callable.hpp"
#include "run_cases.hpp"

namespace onward {
namespace {

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

/// Holds the first chain up at its draws until the second has many, and then wants the run to stop.
struct HoldFirstChain : Sink {
  std::atomic<bool> stop{false};
  std::atomic<int> of_second{0};
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw&) override {
    if (chain == 1) ++of_second;
    if (chain != 0) return;
    do std::this_thread::sleep_for(std::chrono::milliseconds(20));
    while (of_second < 100);
    stop = true;
  }
  void finished(std::size_t) override {}
};

TEST(ProgressHook, IsNeverBeyondTheEnd) {
  HoldFirstChain listener;
  std::vector<Progress> seen;
  Hooks hooks;
  hooks.sinks = {&listener};
  hooks.stop = &listener.stop;
  hooks.progress = [&](const Progress& p) { seen.push_back(p); };
  const auto run = sample(Slow{}, endless(), hooks);
  EXPECT_LT(run.chains[0].draws, run.chains[1].draws);
  ASSERT_FALSE(seen.empty());
  for (const Progress& p : seen) {
    EXPECT_LE(p.steps_done, p.steps_total);
    EXPECT_GE(p.seconds_left, 0);
  }
  // Chains that were cut short are not equally long, and yet there is nothing left to do.
  EXPECT_EQ(seen.back().seconds_left, 0);
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
