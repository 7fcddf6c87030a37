#pragma once
// Whoever wants to have draws as they come: files, arrays, running means. Any number of sinks listens to one
// run.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "onward/direction/metric.hpp"
#include "onward/sampler/trajectory.hpp"
#include "onward/target/jet.hpp"
#include "onward/util/archive.hpp"

namespace onward {

/// What a chain did from one draw to the next.
struct SinceDraw {
  std::uint64_t steps = 0;
  std::uint64_t evaluations = 0;  ///< of the target: jets of any order and gradients
  std::uint64_t nonfinite = 0;    ///< those of them that found no density
  std::uint64_t floored = 0;      ///< steps in which the curvature floor acted
};

/// One kept state of one chain.
struct Draw {
  double log_density;  ///< of what is sampled: tempered, and in the space that is sampled
  double acceptance;   ///< mean over the steps since the last draw
  double step_size;
  std::span<const double> parameters;  ///< as the run's names have them
  VectorView position{};               ///< in the space that is sampled; empty where there is none such
  std::span<const double> moves{};  ///< along their lines, of the steps since the last draw, if they are kept
  SinceDraw since{};                ///< if a sink wants it
  const TrajectoryInfo* trajectory = nullptr;  ///< of chains that follow trajectories
};

/// Functions that name a chain are called from that chain's thread: each chain from one thread at a time,
/// chains at the same time. A sink that throws ends the run.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  /// A chain's warm-up has ended, or the run was stopped in it. A chain whose turn never came has not warmed
  /// up at all.
  virtual void warmed_up(std::size_t chain, double step_size, const Metric& metric) = 0;
  /// Where a chain is when its first kept step is yet to come, after so many steps.
  virtual void begins(std::size_t /*chain*/, std::uint64_t /*steps*/, VectorView /*position*/) {}
  virtual void drawn(std::size_t chain, const Draw& draw) = 0;
  /// No more draws of this chain come in this run.
  virtual void finished(std::size_t chain) = 0;

  /// Whether draws are to come with the moves that led to them.
  virtual bool wants_moves() const { return false; }
  /// Whether draws are to come with counts of what the chain did since the last one.
  virtual bool wants_counts() const { return false; }
  /// What a sink has summed up of a chain's draws, into a checkpoint or out of it. Files have nothing to say:
  /// they are cut back to the checkpoint's draws when they are opened again.
  virtual void transfer(std::size_t /*chain*/, Archive& /*archive*/) {}
  /// Hands what is buffered of a chain's draws to the operating system: a checkpoint counts on them.
  virtual void flush(std::size_t /*chain*/) {}
  /// What was flushed must outlive the machine. Called from the run's own thread, while chains go on, before
  /// a checkpoint is written.
  virtual void make_durable() {}
};

/// A function that is given every draw.
class DrawFunction final : public Sink {
 public:
  explicit DrawFunction(std::function<void(std::size_t chain, const Draw&)> f) : f_(std::move(f)) {}
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override { f_(chain, draw); }
  void finished(std::size_t) override {}

 private:
  std::function<void(std::size_t, const Draw&)> f_;
};

}  // namespace onward
