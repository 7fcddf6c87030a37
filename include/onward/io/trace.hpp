#pragma once
// A chain as its moves. A line kernel with a frozen metric goes from θ to θ + αv, and v is a function of
// seed, chain and step: so a chain is where it began and one number for each step, 0 where it stayed. That is
// 8 bytes a step, however many parameters there are; replaying it gives every state back bit for bit.
//
// In a run folder: chain-N.start, the state and the metric at the end of warm-up, and chain-N.trace, the
// numbers.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "onward/io/run_folder.hpp"
#include "onward/run/run.hpp"

namespace onward {

class TraceSink final : public Sink {
 public:
  /// Makes the files at once; with a checkpoint they are there, and are cut back to its draws.
  TraceSink(const RunFolder& folder, const RunSettings& resolved, const Checkpoint* resumed = nullptr);
  ~TraceSink() override;

  bool wants_moves() const override { return true; }
  void warmed_up(std::size_t chain, double step_size, const Metric& metric) override;
  void begins(std::size_t chain, std::uint64_t steps, VectorView position) override;
  void drawn(std::size_t chain, const Draw& draw) override;
  void finished(std::size_t) override {}
  void make_durable() override;

 private:
  struct File {
    std::filesystem::path path;
    int descriptor = -1;
  };
  std::filesystem::path folder_;
  std::vector<File> files_;
  std::vector<Metric> metrics_;  // until the chain begins
};

/// Walks along a chain of a trace, forward.
class Replay {
 public:
  /// `target` is of the run, for the shape of its parameters alone: it is not evaluated. `chain` counts from
  /// 0. Throws Error for files that are missing or damaged.
  Replay(const std::filesystem::path& folder, AnyTarget target, const RunSettings& resolved,
         std::size_t chain);
  ~Replay();

  std::size_t draws() const;  ///< that the trace has
  /// The state of a draw, counted from 1; draws are to be asked for in ascending order.
  const std::vector<double>& state_of(std::size_t draw);

 private:
  struct Walk;
  std::unique_ptr<Walk> walk_;
};

}  // namespace onward
