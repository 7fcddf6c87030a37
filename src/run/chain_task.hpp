#pragma once
// One chain within a run: advanced a slice at a time, so that any number of threads can take turns with any
// number of chains. It counts steps and draws, tells the sinks, and gives checkpoints. What it computes does
// not depend on the slices.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "onward/run/run.hpp"

namespace onward {

class ChainTask {
 public:
  enum Phase { waiting, warming, sampling, done };

  ChainTask(std::unique_ptr<Chain> chain, const RunSettings& settings, const Hooks& hooks, std::size_t number,
            std::size_t parameters, ChainRecord& record);

  /// Goes on from there.
  void load(const ChainCheckpoint& checkpoint);

  /// Flags, which outlive it: one ends long work within a chain, one cuts short what can be.
  void heed(const std::atomic<bool>& stop, const std::atomic<bool>& hurry) { chain_->heed(stop, &hurry); }
  /// Goes on for a slice, but not beyond so many draws. A stopped chain makes no further step. One that is
  /// in a hurry ends its warm-up at once.
  void advance(std::size_t draws_limit, const std::atomic<bool>& stop, bool hurry = false);
  /// Whether it waits for the other chains to be compared with it.
  bool meets() const {
    const std::uint64_t after = started_ && !warm_ ? chain_->meets_after() : 0;
    return after > 0 && steps_ >= after;
  }
  Chain& chain() { return *chain_; }
  /// No more draws come: tells the sinks and fills in the record.
  void end();

  /// Where it can go on from: here, or at the last place that allows it.
  ChainCheckpoint checkpoint();

  std::size_t number() const { return number_; }
  std::uint64_t steps() const { return steps_; }
  std::size_t draws() const { return record_.draws; }
  bool warm() const { return warm_; }
  bool started() const { return started_; }
  Phase phase() const { return phase_; }
  Monitor& monitor() { return monitor_; }
  const Monitor& monitor() const { return monitor_; }

 private:
  bool start();
  void freeze();
  void tell_warm_up();
  void keep_draw();
  SinceDraw counted() const;
  std::uint64_t to_next_event(std::uint64_t slice) const;
  void transfer(Archive& archive);
  ChainCheckpoint save();

  std::unique_ptr<Chain> chain_;
  const RunSettings& settings_;
  const Hooks& hooks_;
  std::size_t number_;
  ChainRecord& record_;
  Monitor monitor_;
  std::atomic<Phase> phase_{waiting};
  bool started_ = false, warm_ = false;
  std::uint64_t steps_ = 0, since_draw_ = 0;
  std::uint64_t warmup_;  // steps; fewer than the settings have if there was no time for them
  double total_acceptance_ = 0;
  std::uint32_t max_depth_ = 0;  // that trajectories may have
  std::vector<double> parameters_;
  bool counts_ = false;     // a sink wants to know
  SinceDraw at_draw_ = {};  // what was counted up to the last draw
  ChainCheckpoint latest_;  // of a chain that cannot be saved everywhere
};

}  // namespace onward
