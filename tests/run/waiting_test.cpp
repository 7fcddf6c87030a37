// A step that is cut short while its target waits for another process leaves no trace: whoever goes on from
// there has the bits of one that was never cut, at whatever evaluation it was.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "onward/run/kernel_chain.hpp"
#include "onward/run/run.hpp"
#include "onward/util/stopped.hpp"
#include "onward/util/waiting.hpp"

namespace onward {
namespace {

struct Watch {
  std::uint64_t evaluations = 0, stop_at = 0;
  bool announces = true;
};

/// A normal that is behind some server: at one evaluation it is told to stop.
struct Remote {
  Watch* watch;
  static std::size_t dimension() { return 2; }
  Jet jet(VectorView theta, VectorView v, Order order) const {
    if (watch->announces) Waiting::announce();
    if (++watch->evaluations == watch->stop_at) throw Stopped();
    Jet jet;
    for (std::size_t i = 0; i < theta.size(); ++i) {
      jet.value -= 0.5 * theta[i] * theta[i];
      if (order == Order::value) continue;
      jet.slope -= theta[i] * v[i];
      jet.curvature -= v[i] * v[i];
    }
    return jet;
  }
  double gradient(VectorView theta, std::span<double> out) const {
    for (std::size_t i = 0; i < theta.size(); ++i) out[i] = -theta[i];
    return jet(theta, {}, Order::value).value;
  }
};

struct Outcome {
  std::vector<double> position;
  std::uint64_t evaluations;
  bool operator==(const Outcome&) const = default;
};

/// Where a chain is after warm-up and some steps, if it was cut at that evaluation (0: nowhere).
Outcome outcome(const std::string& sampler, std::uint64_t cut_at, bool announces = true) {
  Watch watch{0, cut_at, announces};
  RunSettings settings;
  settings.sampler = sampler;
  if (sampler != "nuts") settings.sampler_options["inner"] = 4;
  settings.warmup = 150;
  settings.thin = 1;
  settings.seed = 3;
  KernelChainMaker maker{AnyTarget(Remote{&watch})};
  settings = maker.resolve(settings);
  ThreadPool pool(1);
  const std::atomic<bool> stop{false};
  maker.prepare(settings, pool, stop);
  const auto chain = maker.make(0, std::make_shared<ThreadPool>(1));
  chain->heed(stop);
  for (bool started = false; !started;) try {
      chain->start();
      started = true;
    } catch (const Stopped&) {
    }
  Monitor monitor;
  for (const std::uint64_t steps : {std::uint64_t{150}, std::uint64_t{60}}) {
    for (std::uint64_t made = 0; made < steps;) made += chain->advance(steps - made, monitor);
    if (steps == 150) chain->freeze();
  }
  return {{chain->position().begin(), chain->position().end()}, chain->report().counts.jets()};
}

TEST(WaitingTarget, AStepThatIsCutLeavesNoTrace) {
  for (const std::string sampler : {"newton-line", "pc-line-fmala", "nuts"}) {
    const Outcome whole = outcome(sampler, 0);
    for (std::uint64_t cut = 3; cut < 1500; cut += 31)
      ASSERT_EQ(outcome(sampler, cut), whole) << sampler << " " << cut;
  }
}

/// No copies are kept for a target that does not say that it waits, and this test sees it.
TEST(WaitingTarget, WithoutACopyThereIsATrace) {
  const Outcome whole = outcome("newton-line", 0, false);
  bool traces = false;
  for (std::uint64_t cut = 1000; cut < 1012; ++cut)
    traces = traces || outcome("newton-line", cut, false) != whole;
  EXPECT_TRUE(traces);
}

}  // namespace
}  // namespace onward
