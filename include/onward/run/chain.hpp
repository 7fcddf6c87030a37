#pragma once
// A chain: what advances by whole strides, gives draws and says how it fares, saves itself and goes on from
// what was saved. Kernels with their warm-up are one kind (kernel_chain.hpp), regressions along their axes
// another (glm/axis_chain.hpp); a run (run.hpp) knows no more of them than is written here.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onward/direction/metric.hpp"
#include "onward/sampler/trajectory.hpp"
#include "onward/target/target.hpp"
#include "onward/util/archive.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward {

struct RunSettings;

/// What a chain tells of itself besides its draws.
struct ChainReport {
  double step_size = 1;
  Counts counts;              ///< of evaluations, warm-up included
  std::uint64_t floored = 0;  ///< steps after warm-up in which the curvature floor acted
  double largest_drift = 0;   ///< found when what is carried from place to place was computed afresh
  bool joined = false;        ///< lagged behind in warm-up, and went on from where another chain was
};

/// How warm-up went, at about a hundred places of it.
struct WarmUpRecord {
  std::vector<std::uint64_t> steps = {};  ///< made up to there
  std::vector<double> step_size = {};     ///< there
  std::vector<double> acceptance = {};    ///< mean since the place before
};

/// What a run and one of its chains tell each other while the chain advances.
struct Monitor {
  std::atomic<bool> pause{false};       ///< asks the chain to return after the step it is in
  std::atomic<std::uint64_t> steps{0};  ///< made so far, for whoever shows progress
  std::atomic<double> acceptance_sum{0};

  /// For the chain's thread alone.
  void count(std::uint64_t made, double acceptance) {
    steps.store(steps.load(std::memory_order_relaxed) + made, std::memory_order_relaxed);
    acceptance_sum.store(acceptance_sum.load(std::memory_order_relaxed) + acceptance,
                         std::memory_order_relaxed);
  }
};

class Chain {
 public:
  virtual ~Chain() = default;

  /// Steps that it makes at once: 1 for a kernel, as many as there are axes for a sweep along them. Warm-up
  /// and thinning are multiples of it.
  virtual std::size_t stride() const { return 1; }
  /// Steps that make a sweep over all directions.
  virtual std::size_t sweep() const { return stride(); }
  /// It can be saved exactly after every so many steps, a multiple of the stride.
  virtual std::uint64_t saved_every() const { return stride(); }

  /// Before start(): a flag, which outlives the chain, that ends long work. Once it is true, start() may
  /// throw Stopped, after which the chain is as before it, and advance() may return with no step made.
  virtual void heed(const std::atomic<bool>& /*stop*/, const std::atomic<bool>* /*hurry*/ = nullptr) {}
  /// Finds where it begins. Throws Error if there is no such place.
  virtual void start() = 0;
  /// Makes so many steps, a multiple of the stride, or fewer if it is asked to pause, but at least one
  /// stride. Returns how many.
  virtual std::uint64_t advance(std::uint64_t steps, Monitor& monitor) = 0;
  /// Ends warm-up: from here on nothing adapts.
  virtual void freeze() = 0;

  /// Steps of warm-up after which chains wait for each other next and are compared; 0: they do not, or no
  /// more.
  virtual std::uint64_t meets_after() const { return 0; }
  /// Then: an estimate of how much mass there is where it is, as a logarithm, up to a constant that is the
  /// same for all chains.
  virtual double log_mass() const { return 0; }
  /// Goes on from where another chain of the same kind is, or, with null, from where it is itself.
  virtual void meet(const Chain* /*other*/) {}

  /// The sum of acceptance probabilities since it was last asked for.
  virtual double take_acceptance() = 0;
  /// The parameters, as the run's names have them; returns the log density of what is sampled.
  virtual double draw(std::span<double> parameters) = 0;
  /// Where it is in the space that is sampled; empty where there is none such.
  virtual VectorView position() const { return {}; }
  /// Keeps what take_moves() gives from here on: for each step how far it went along its line. Throws
  /// UsageError if it does not go along lines one move at a time.
  virtual void keep_moves() {
    throw UsageError("the moves of this sampler cannot be kept: it follows no lines");
  }
  virtual std::vector<double> take_moves() { return {}; }
  /// What warm-up has learned, so far or for good.
  virtual double step_size() const { return 1; }
  virtual Metric metric() const { return {}; }
  virtual ChainReport report() const = 0;
  /// What the trajectories did since it was last asked; null for chains that follow none.
  virtual const TrajectoryInfo* take_trajectory() { return nullptr; }
  /// How its warm-up went; nothing is in it of chains that do not adapt.
  virtual WarmUpRecord warmup() const { return {}; }

  /// Everything that decides how it goes on, from the chain or to it. One that is loaded has not been started
  /// nor frozen: it is what it was when it was saved.
  virtual void transfer(Archive& archive) = 0;
};

/// Makes the chains of a run. What they share, such as a mode and coordinates about it, is prepared once.
class ChainMaker {
 public:
  virtual ~ChainMaker() = default;
  virtual std::size_t dimension() const = 0;
  virtual std::vector<std::string> names() const = 0;
  /// How many of these, from the first on, must be known well enough before a run may stop by itself.
  virtual std::size_t judged() const { return names().size(); }
  /// Checks the settings and fills them in. Throws UsageError that names field, value and what is allowed.
  virtual RunSettings resolve(RunSettings settings) const = 0;
  /// Once, before the first chain. If `stop` becomes true it may return early: no chain is started then.
  virtual void prepare(const RunSettings& resolved, ThreadPool& pool, const std::atomic<bool>& stop) = 0;
  /// Whether more threads than one can share the work within a step.
  virtual bool shares_steps() const { return false; }
  /// Sentences that the data call for, known after prepare().
  virtual std::vector<std::string> notes() const { return {}; }
  /// Chain number `number`, whose work within a step is shared by the pool's threads. Bits do not depend on
  /// how many these are.
  virtual std::unique_ptr<Chain> make(std::size_t number, std::shared_ptr<ThreadPool> pool) = 0;
};

}  // namespace onward
