// A run that is cut and resumed gives the bits of one that never stopped.

#include <gmock/gmock.h>

#include <cmath>

#include "glm/reference.hpp"
#include "io/scratch.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/io/csv_sink.hpp"
#include "onward/run/kernel_chain.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using MakeMaker = std::function<std::unique_ptr<ChainMaker>()>;

/// A narrow valley with a long tail: steps of every kind are accepted and rejected.
struct Valley {
  template <class T>
  auto operator()(const T& t) const {
    using std::exp;
    auto f = -0.5 * t[0] * t[0] / 4.0;
    for (std::size_t i = 1; i < t.size(); ++i) f += 0.5 * t[0] - 0.5 * exp(t[0]) * t[i] * t[i];
    return f;
  }
};

std::unique_ptr<ChainMaker> valley() { return std::make_unique<KernelChainMaker>(target(4, Valley{})); }

RunSettings settings(const std::string& sampler) {
  RunSettings s;
  s.sampler = sampler;
  s.warmup = 700;
  s.thin = 3;
  s.draws = 150;
  s.chains = 3;
  s.threads = 2;
  s.seed = 4;
  return s;
}

/// Stops the run once so many draws have come.
class StopAfter final : public Sink {
 public:
  explicit StopAfter(std::size_t draws) : left_(draws) {}
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t, const Draw&) override {
    if (left_-- == 1) stop = true;
  }
  void finished(std::size_t) override {}
  std::atomic<bool> stop{false};

 private:
  std::atomic<std::size_t> left_;
};

/// What was drawn before a checkpoint, as files would give it back.
Resume resume_of(const Run& run, Checkpoint checkpoint) {
  Resume resume{std::move(checkpoint), run.chains};
  for (std::size_t c = 0; c < run.chains.size(); ++c) {
    const std::size_t draws = resume.checkpoint.chains[c].draws;
    resume.chains[c].values.resize(draws * run.names.size());
    resume.chains[c].log_density.resize(draws);
    if (!run.chains[c].followed.empty()) resume.chains[c].followed.resize(draws);
    resume.chains[c].draws = draws;
  }
  return resume;
}

void expect_same(const Run& a, const Run& b) {
  ASSERT_EQ(a.chains.size(), b.chains.size());
  for (std::size_t c = 0; c < a.chains.size(); ++c) {
    EXPECT_EQ(a.chains[c].values, b.chains[c].values) << "chain " << c;
    EXPECT_EQ(a.chains[c].log_density, b.chains[c].log_density);
    ASSERT_EQ(a.chains[c].followed.size(), b.chains[c].followed.size());
    for (std::size_t d = 0; d < a.chains[c].followed.size(); ++d) {
      EXPECT_EQ(a.chains[c].followed[d].energy, b.chains[c].followed[d].energy);
      EXPECT_EQ(a.chains[c].followed[d].leapfrogs, b.chains[c].followed[d].leapfrogs);
    }
    EXPECT_EQ(a.trajectories(), b.trajectories());
    EXPECT_EQ(a.chains[c].step_size, b.chains[c].step_size);
    EXPECT_EQ(a.chains[c].acceptance, b.chains[c].acceptance);
    EXPECT_EQ(a.chains[c].counts.jets(), b.chains[c].counts.jets());
    EXPECT_EQ(a.chains[c].sampling_steps, b.chains[c].sampling_steps);
    EXPECT_EQ(a.chains[c].warmup.steps, b.chains[c].warmup.steps);
    EXPECT_EQ(a.chains[c].warmup.step_size, b.chains[c].warmup.step_size);
    EXPECT_EQ(a.chains[c].warmup.acceptance, b.chains[c].warmup.acceptance);
  }
}

/// Runs, stops after so many draws of all chains (0: in warm-up), and goes on from the last checkpoint.
Run cut_and_resumed(const MakeMaker& make, RunSettings s, std::size_t cut, std::size_t threads_then) {
  const auto maker = make();
  const RunSettings resolved = maker->resolve(s);
  StopAfter stopper(cut);
  Checkpoint last;
  Hooks hooks;
  hooks.sinks = {&stopper};
  hooks.stop = &stopper.stop;
  hooks.checkpoint_seconds = 1e-4;
  hooks.checkpoint = [&](const Checkpoint& checkpoint) {
    last = checkpoint;
    if (cut == 0) stopper.stop = true;
  };
  const Run before = run_chains(*maker, resolved, hooks);
  const auto again = make();
  s.threads = threads_then;
  const RunSettings then = again->resolve(s);
  const Resume resume = resume_of(before, std::move(last));
  Hooks going_on;
  going_on.resume = &resume;
  return run_chains(*again, then, going_on);
}

class Resumed : public ::testing::TestWithParam<std::string> {};

TEST_P(Resumed, GivesTheBitsOfARunThatNeverStopped) {
  const RunSettings s = settings(GetParam());
  const auto maker = valley();
  const onward::Run whole = run_chains(*maker, maker->resolve(s));
  ASSERT_EQ(whole.ending, Ending::complete);
  for (const std::size_t cut : {0, 1, 100, 400}) {
    SCOPED_TRACE(cut);
    expect_same(whole, cut_and_resumed(valley, s, cut, cut == 1 ? 1 : 4));
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, Resumed,
                         ::testing::Values("rwm", "mala", "fmala", "line-fmala", "pc-fmala", "pc-line-fmala",
                                           "newton-line", "nuts"),
                         [](const auto& sampler) {
                           std::string name = sampler.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Resume, SecondsOfAllPartsAddUp) {
  const auto maker = valley();
  StopAfter stopper(100);
  Checkpoint last;
  Hooks hooks;
  hooks.sinks = {&stopper};
  hooks.stop = &stopper.stop;
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { last = checkpoint; };
  const onward::Run before = run_chains(*maker, maker->resolve(settings("mala")), hooks);
  EXPECT_GT(last.seconds.all, 0);
  EXPECT_LE(last.seconds.all, before.warmup_seconds + before.sampling_seconds);
  last.seconds.all += 1000;  // as if it had taken so long
  const Resume resume = resume_of(before, last);
  Hooks going_on;
  going_on.resume = &resume;
  std::vector<double> seconds;
  going_on.progress = [&](const Progress& progress) { seconds.push_back(progress.seconds); };
  const auto again = valley();
  const onward::Run run = run_chains(*again, again->resolve(settings("mala")), going_on);
  EXPECT_GT(run.warmup_seconds + run.sampling_seconds, last.seconds.all);
  EXPECT_LT(run.warmup_seconds + run.sampling_seconds, last.seconds.all + 100);
  EXPECT_GT(seconds.back(), 1000);
}

TEST(Resume, ARunThatIsStoppedWhereItsLengthIsJudgedIsNotComplete) {
  RunSettings s = settings("mala");
  s.until_ess = 1e9;
  s.draws = 100000;
  s.chains = 1;
  StopAfter stopper(125);  // where the first judgement is
  Hooks hooks;
  hooks.sinks = {&stopper};
  hooks.stop = &stopper.stop;
  const auto maker = valley();
  const onward::Run run = run_chains(*maker, maker->resolve(s), hooks);
  EXPECT_EQ(run.draws(), 125u);
  EXPECT_EQ(run.ending, Ending::interrupted);
}

TEST(Resume, MetricsOfAllKindsAreLearnedOnTheSameWay) {
  for (const MetricKind metric :
       {MetricKind::none, MetricKind::diag, MetricKind::dense, MetricKind::lowrank}) {
    SCOPED_TRACE(to_string(metric));
    RunSettings s = settings("pc-line-fmala");
    s.metric = metric;
    s.warmup = 4000;
    const auto maker = valley();
    const onward::Run whole = run_chains(*maker, maker->resolve(s));
    expect_same(whole, cut_and_resumed(valley, s, 0, 2));
  }
}

TEST(Resume, ARegressionAlongItsAxesGoesOn) {
  for (const glm::Family family : {glm::Family::bernoulli, glm::Family::gaussian, glm::Family::categorical}) {
    SCOPED_TRACE(glm::to_string(family));
    const auto problem = testing::problem(family, {.rows = 200, .predictors = 2});
    const auto make = [&] { return std::make_unique<glm::AxisChainMaker>(problem.posterior()); };
    RunSettings s;
    s.warmup = 30 * problem.dimension();
    s.draws = 120;
    s.chains = 2;
    s.seed = 5;
    const auto maker = make();
    const onward::Run whole = run_chains(*maker, maker->resolve(s));
    for (const std::size_t cut : {0, 1, 130}) {
      SCOPED_TRACE(cut);
      expect_same(whole, cut_and_resumed(make, s, cut, 3));
    }
  }
}

TEST(Resume, AFinishedRunCanBeProlonged) {
  RunSettings s = settings("newton-line");
  const auto maker = valley();
  Checkpoint last;
  Hooks hooks;
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { last = checkpoint; };
  const onward::Run first = run_chains(*maker, maker->resolve(s), hooks);
  s.draws = 400;
  const auto again = valley(), whole = valley();
  const Resume resume = resume_of(first, last);
  Hooks going_on;
  going_on.resume = &resume;
  expect_same(run_chains(*whole, whole->resolve(s)), run_chains(*again, again->resolve(s), going_on));
}

TEST(Resume, ChainsOfAnotherModelAreRefused) {
  RunSettings s = settings("newton-line");
  const auto maker = valley();
  Checkpoint last;
  Hooks hooks;
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { last = checkpoint; };
  const onward::Run first = run_chains(*maker, maker->resolve(s), hooks);
  KernelChainMaker other(target(5, Valley{}));
  const Resume resume = resume_of(first, last);
  Hooks going_on;
  going_on.resume = &resume;
  EXPECT_THROW(run_chains(other, other.resolve(s), going_on), Error);
  s.chains = 2;
  const auto fewer = valley();
  EXPECT_THROW(run_chains(*fewer, fewer->resolve(s), going_on), Error);
}

class CheckpointFile : public onward::testing::Scratch {};

TEST_F(CheckpointFile, ComesBackAsItWas) {
  Checkpoint checkpoint;
  checkpoint.chains = {{10, 2, std::string("a\0b", 3)}, {11, 3, ""}};
  write_checkpoint(path("checkpoint"), {{"model", "x"}}, checkpoint);
  const StoredCheckpoint stored = read_checkpoint(path("checkpoint"));
  EXPECT_EQ(stored.about["model"], "x");
  ASSERT_EQ(stored.checkpoint.chains.size(), 2u);
  EXPECT_EQ(stored.checkpoint.chains[0].state, checkpoint.chains[0].state);
  EXPECT_EQ(stored.checkpoint.chains[1].steps, 11u);
  EXPECT_EQ(stored.checkpoint.chains[1].draws, 3u);
}

TEST_F(CheckpointFile, AnyFlippedBitOrMissingByteIsNoticed) {
  Checkpoint checkpoint;
  checkpoint.chains = {{10, 2, "state"}};
  write_checkpoint(path("checkpoint"), {{"model", "x"}}, checkpoint);
  const std::string whole = get(path("checkpoint"));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    put("damaged", damaged);
    EXPECT_THROW(read_checkpoint(path("damaged")), Error) << i;
    put("damaged", whole.substr(0, i));
    EXPECT_THROW(read_checkpoint(path("damaged")), Error) << i;
  }
}

TEST(UntilEss, StopsAtTheSameDrawOnAnyNumberOfThreads) {
  RunSettings s = settings("newton-line");
  s.draws = 100'000;
  s.until_ess = 300;
  std::optional<onward::Run> first;
  for (const std::size_t threads : {1, 2, 5}) {
    s.threads = threads;
    const auto maker = valley();
    onward::Run run = run_chains(*maker, maker->resolve(s));
    EXPECT_EQ(run.ending, Ending::complete);
    EXPECT_GE(run.draws(), 125u);
    EXPECT_LT(run.draws(), 100'000u);
    for (std::size_t i = 0; i < run.names.size(); ++i) {
      EXPECT_GE(ess_bulk(run.parameter(i)), 300);
      EXPECT_GE(ess_tail(run.parameter(i)), 300);
      EXPECT_LT(rhat(run.parameter(i)), 1.01);
    }
    if (first) expect_same(*first, run);
    first = std::move(run);
  }
}

}  // namespace
}  // namespace onward
