// A search for a step size that is asked to stop: it ends within an evaluation or two, and a run that goes on
// from there has the bits of one that was never cut.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "onward/run/kernel_chain.hpp"
#include "onward/run/run.hpp"
#include "onward/util/stopped.hpp"

namespace onward {
namespace {

/// What the jets of all copies of a target have counted, and what they do when they have.
struct Watch {
  std::atomic<std::uint64_t> evaluations{0}, stop_at{0};
  std::atomic<bool> stop{false};
  std::chrono::milliseconds slow_after_stop{0};
};

/// A normal of a small scale: the search halves its step size about 20 times.
struct Narrow {
  Watch* watch;
  static std::size_t dimension() { return 2; }
  Jet jet(VectorView theta, VectorView v, Order order) const {
    if (++watch->evaluations == watch->stop_at) watch->stop = true;
    if (watch->stop) std::this_thread::sleep_for(watch->slow_after_stop);
    constexpr double precision = 1e12;
    Jet jet{0, 0, 0};
    for (std::size_t i = 0; i < theta.size(); ++i) {
      jet.value -= 0.5 * precision * theta[i] * theta[i];
      if (order == Order::value) continue;
      jet.slope -= precision * theta[i] * v[i];
      jet.curvature -= precision * v[i] * v[i];
    }
    return jet;
  }
};

RunSettings settings(const std::string& sampler) {
  RunSettings s;
  s.sampler = sampler;
  s.warmup = 300;
  s.draws = 50;
  s.thin = 1;
  s.chains = 1;
  s.threads = 1;
  s.seed = 3;
  s.start.kind = Start::Kind::zeros;
  return s;
}

/// Evaluations up to the end of the first search, and in all of warm-up, of a chain that nobody stops.
struct Lengths {
  std::uint64_t search = 0, warmup = 0;
};
Lengths lengths(const std::string& sampler) {
  Watch watch;
  KernelChainMaker maker{AnyTarget(Narrow{&watch})};
  const RunSettings resolved = maker.resolve(settings(sampler));
  KernelChain chain(Narrow{&watch}, resolved, 0);
  chain.start();
  Lengths lengths;
  lengths.search = watch.evaluations;
  Monitor monitor;
  chain.advance(*resolved.warmup, monitor);
  lengths.warmup = watch.evaluations;
  return lengths;
}

class Search : public testing::TestWithParam<const char*> {};

TEST_P(Search, ThatIsStoppedEndsWithinTwoEvaluations) {
  const Lengths whole = lengths(GetParam());
  ASSERT_GT(whole.search, 30u) << "there would be nothing to cut";
  for (const std::uint64_t stop_at : {1u, 2u, 17u, 30u}) {
    Watch watch;
    watch.stop_at = stop_at;
    KernelChainMaker maker{AnyTarget(Narrow{&watch})};
    const RunSettings resolved = maker.resolve(settings(GetParam()));
    KernelChain chain(Narrow{&watch}, resolved, 0);
    chain.heed(watch.stop, nullptr);
    EXPECT_THROW(chain.start(), Stopped);
    EXPECT_LE(watch.evaluations, stop_at + 2);
    EXPECT_EQ(chain.report().counts.jets(), 0u) << "what was thrown away is not counted";
    // The chain is as it was before: it can be started again, and comes to the same place.
    watch.stop = false;
    watch.stop_at = 0;
    watch.evaluations = 0;
    chain.start();
    EXPECT_EQ(watch.evaluations, whole.search);
  }
}

TEST_P(Search, AtTheEndOfAWindowCanBeStoppedToo) {
  Watch watch;
  KernelChainMaker maker{AnyTarget(Narrow{&watch})};
  const RunSettings resolved = maker.resolve(settings(GetParam()));
  const std::uint64_t warmup = *resolved.warmup;
  KernelChain whole(Narrow{&watch}, resolved, 0), chain(Narrow{&watch}, resolved, 0);
  Monitor monitor;
  whole.start();
  whole.advance(warmup, monitor);

  chain.heed(watch.stop, nullptr);
  chain.start();
  watch.stop = true;  // nobody asks for a pause: steps go on until there is a search
  std::uint64_t made = chain.advance(warmup, monitor);
  EXPECT_GT(made, 0u);
  ASSERT_LT(made, warmup) << "no search was stopped";
  watch.stop = false;
  watch.evaluations = 0;
  watch.stop_at = 5;
  EXPECT_EQ(chain.advance(warmup - made, monitor), 0u);
  EXPECT_LE(watch.evaluations, 7u);
  watch.stop = false;
  EXPECT_EQ(chain.advance(warmup - made, monitor), warmup - made);
  EXPECT_EQ(chain.state().position, whole.state().position);
  EXPECT_EQ(chain.step_size(), whole.step_size());
  EXPECT_EQ(chain.report().counts.jets(), whole.report().counts.jets());
}

/// Draws of a run that is cut when so many evaluations have been made, and goes on.
Run cut_and_resumed(const std::string& sampler, std::uint64_t stop_at, std::uint64_t& after) {
  Watch watch;
  watch.stop_at = stop_at;
  watch.slow_after_stop = std::chrono::milliseconds(25);
  Resume resume;
  Hooks hooks;
  hooks.stop = &watch.stop;
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { resume.checkpoint = checkpoint; };
  const Run part = sample(Narrow{&watch}, settings(sampler), hooks);
  EXPECT_EQ(part.ending, Ending::interrupted);
  resume.chains = part.chains;
  after = watch.evaluations - stop_at;
  watch.stop = false;
  hooks.resume = &resume;
  return sample(Narrow{&watch}, settings(sampler), hooks);
}

TEST_P(Search, ARunThatIsCutInItGoesOnWithTheSameBits) {
  Watch watch;
  const onward::Run whole = sample(Narrow{&watch}, settings(GetParam()));
  const Lengths reached = lengths(GetParam());
  std::uint64_t most_after = 0;
  // The first place is in the first search; others are anywhere in warm-up, some of them in later searches.
  const std::uint64_t apart = (reached.warmup - reached.search) / 16;
  for (std::uint64_t stop_at = 20; stop_at < reached.warmup; stop_at += apart) {
    std::uint64_t after = 0;
    const onward::Run run = cut_and_resumed(GetParam(), stop_at, after);
    most_after = std::max(most_after, after);
    EXPECT_EQ(run.chains[0].values, whole.chains[0].values) << "cut after evaluation " << stop_at;
    EXPECT_EQ(run.chains[0].counts.jets(), whole.chains[0].counts.jets());
    EXPECT_EQ(run.chains[0].warmup.step_size, whole.chains[0].warmup.step_size);
  }
  // A run looks at its flag 20 times a second, that is every two evaluations; a busy machine may delay it.
  EXPECT_LT(most_after, 40u) << "the first search alone has " << reached.search;
}

INSTANTIATE_TEST_SUITE_P(Samplers, Search, testing::Values("rwm", "fmala", "pc-line-fmala"),
                         [](const auto& sampler) {
                           std::string name = sampler.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace onward
