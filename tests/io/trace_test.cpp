// A chain kept as its moves gives its states back bit for bit.

#include "onward/io/trace.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>

#include "io/scratch.hpp"
#include "onward/run/kernel_chain.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

struct Skewed {
  template <class T>
  auto operator()(const T& t) const {
    using std::exp;
    auto f = -exp(t[0]) + t[0];
    for (std::size_t i = 1; i < t.size(); ++i) f += -0.5 * (t[i] - t[i - 1]) * (t[i] - t[i - 1]);
    return f;
  }
};

/// Every draw's place in the space that is sampled.
class Positions final : public Sink {
 public:
  explicit Positions(std::size_t chains) : all(chains) {}
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override {
    all[chain].emplace_back(draw.position.begin(), draw.position.end());
  }
  void finished(std::size_t) override {}
  std::vector<std::vector<std::vector<double>>> all;
};

class Trace : public onward::testing::Scratch {
 protected:
  static RunSettings settings() {
    RunSettings s;
    s.sampler = "line-fmala";
    s.warmup = 600;
    s.thin = 4;
    s.draws = 50;
    s.chains = 2;
    s.seed = 9;
    return s;
  }
};

TEST_F(Trace, GivesEveryStateBack) {
  for (const char* directions : {"frames", "axes", "sphere", "frames*3+axes"})
    for (const MetricKind metric : {MetricKind::none, MetricKind::diag, MetricKind::dense})
      for (const char* sampler : {"line-fmala", "pc-line-fmala", "newton-line"}) {
        SCOPED_TRACE(std::string(directions) + " " + sampler);
        RunSettings s = settings();
        s.directions = directions;
        s.metric = metric;
        s.sampler = sampler;
        std::filesystem::remove_all(path("run"));
        const AnyTarget target = onward::target(5, Skewed{});
        KernelChainMaker maker(target);
        const RunSettings resolved = maker.resolve(s);
        Positions positions(2);
        {
          const RunFolder folder = RunFolder::create(path("run"));
          TraceSink trace(folder, resolved);
          Hooks hooks;
          hooks.sinks = {&trace, &positions};
          run_chains(maker, resolved, hooks);
        }
        EXPECT_EQ(std::filesystem::file_size(path("run/chain-1.trace")), 50u * 4 * sizeof(double));
        for (std::size_t chain = 0; chain < 2; ++chain) {
          Replay replay(path("run"), target, resolved, chain);
          ASSERT_EQ(replay.draws(), 50u);
          for (const std::size_t draw : {1, 2, 30, 50})
            EXPECT_EQ(replay.state_of(draw), positions.all[chain][draw - 1]) << draw;
        }
      }
}

TEST_F(Trace, KeepsItsStartWhenResumedBeforeTheFirstDraw) {
  RunSettings s = settings();
  s.thin = 300'000;
  s.draws = 2;
  s.chains = 1;
  const AnyTarget target = onward::target(5, Skewed{});
  KernelChainMaker maker(target);
  const RunSettings resolved = maker.resolve(s);
  Resume resume;
  std::string start;
  {
    const RunFolder folder = RunFolder::create(path("run"));
    TraceSink trace(folder, resolved);
    std::atomic<bool> stop{false};
    Hooks hooks;
    hooks.sinks = {&trace};
    hooks.stop = &stop;
    hooks.checkpoint_seconds = 1e-4;
    hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      resume.checkpoint = checkpoint;
      if (checkpoint.chains[0].steps > *resolved.warmup) stop = true;
    };
    run_chains(maker, resolved, hooks);
    start = get(path("run/chain-1.start"));
  }
  ASSERT_GT(resume.checkpoint.chains[0].steps, *resolved.warmup);
  ASSERT_EQ(resume.checkpoint.chains[0].draws, 0u) << "the run was not cut before its first draw";
  Positions positions(1);
  {
    const RunFolder folder = RunFolder::reopen(path("run"));
    TraceSink trace(folder, resolved, &resume.checkpoint);
    Hooks hooks;
    hooks.sinks = {&trace, &positions};
    hooks.keep_draws = false;
    hooks.resume = &resume;
    run_chains(maker, resolved, hooks);
  }
  EXPECT_EQ(get(path("run/chain-1.start")), start);
  Replay replay(path("run"), target, resolved, 0);
  for (const std::size_t draw : {1, 2}) EXPECT_EQ(replay.state_of(draw), positions.all[0][draw - 1]) << draw;
}

TEST_F(Trace, IsOfLineKernelsOneMoveAStep) {
  const RunFolder folder = RunFolder::create(path("run"));
  const auto refused = [&](RunSettings s) {
    KernelChainMaker maker(onward::target(5, Skewed{}));
    const RunSettings resolved = maker.resolve(std::move(s));
    std::filesystem::remove(path("run/chain-1.trace"));
    std::filesystem::remove(path("run/chain-2.trace"));
    TraceSink trace(folder, resolved);
    Hooks hooks;
    hooks.sinks = {&trace};
    return onward::testing::error_of([&] { run_chains(maker, resolved, hooks); });
  };
  RunSettings s = settings();
  s.sampler = "mala";
  EXPECT_THAT(refused(s), ::testing::HasSubstr("which mala does not"));
  s = settings();
  s.sampler_options["inner"] = 2;
  EXPECT_THAT(refused(s), ::testing::HasSubstr("one move a step"));
}

TEST_F(Trace, AsksForDrawsThatAreThereInOrder) {
  const AnyTarget target = onward::target(5, Skewed{});
  KernelChainMaker maker(target);
  const RunSettings resolved = maker.resolve(settings());
  {
    const RunFolder folder = RunFolder::create(path("run"));
    TraceSink trace(folder, resolved);
    Hooks hooks;
    hooks.sinks = {&trace};
    run_chains(maker, resolved, hooks);
  }
  Replay replay(path("run"), target, resolved, 0);
  EXPECT_THROW(replay.state_of(0), UsageError);
  EXPECT_THROW(replay.state_of(51), UsageError);
  replay.state_of(10);
  EXPECT_THROW(replay.state_of(9), UsageError);
  EXPECT_THROW(Replay(path("run"), onward::target(4, Skewed{}), resolved, 0), Error);
  put("run/chain-1.start", "short");
  EXPECT_THROW(Replay(path("run"), target, resolved, 0), Error);
}

}  // namespace
}  // namespace onward
