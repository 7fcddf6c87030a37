#pragma once
// A chain of a kernel on a target: it finds a start, warms up, freezes and goes on with what was learned.

#include <optional>
#include <vector>

#include "onward/run/chain.hpp"
#include "onward/run/settings.hpp"
#include "onward/warmup/warmup.hpp"

namespace onward {

class KernelChain final : public Chain {
 public:
  /// `settings` outlive it, and are resolved.
  KernelChain(AnyTarget target, const RunSettings& settings, std::size_t number);

  std::size_t sweep() const override { return sweep_steps(settings_.sampler, target_.dimension()); }
  std::uint64_t saved_every() const override;
  void heed(const std::atomic<bool>& stop, const std::atomic<bool>* hurry) override {
    workspace_.stop = stop_ = &stop;
    hurry_ = hurry;
  }
  void start() override;
  std::uint64_t advance(std::uint64_t steps, Monitor& monitor) override;
  void freeze() override;
  std::uint64_t meets_after() const override {
    const std::uint64_t next = warmup_ ? warmup_->next_end() : 0;
    return next > met_at_ ? next : 0;
  }
  double log_mass() const override { return warmup_->log_mass(); }
  void meet(const Chain* other) override;
  double take_acceptance() override;
  double draw(std::span<double> parameters) override;
  VectorView position() const override { return state_.position; }
  void keep_moves() override;
  std::vector<double> take_moves() override { return std::exchange(moves_, {}); }
  double step_size() const override;
  Metric metric() const override;
  ChainReport report() const override;
  const TrajectoryInfo* take_trajectory() override;
  WarmUpRecord warmup() const override { return record_; }
  void transfer(Archive& archive) override;

  const State& state() const { return state_; }

 private:
  /// What a step changes, kept where it may be cut short while the target waits for another process.
  struct BeforeStep {
    State state;
    std::optional<WarmUp> warmup;
    WarmUpRecord record;
    TrajectoryInfo followed;
    double since_noted;
  };

  WarmUpSettings warmup_settings() const;
  StepInfo step();
  void note_warm_up(double acceptance);
  void note_trajectory();
  void require_same_density() const;

  AnyTarget target_;
  const RunSettings& settings_;
  std::size_t number_;
  const std::atomic<bool>*stop_ = nullptr, *hurry_ = nullptr;
  Stream stream_;
  Workspace workspace_;
  State state_;
  std::optional<WarmUp> warmup_;        // until it is done
  std::optional<FrozenKernel> frozen_;  // from then on
  std::uint64_t steps_ = 0, floored_ = 0;
  double acceptance_ = 0;  // summed up since it was last taken
  double largest_drift_ = 0;
  WarmUpRecord record_;       // how warm-up went
  double since_noted_ = 0;    // acceptance summed up since the last place of the record
  std::uint64_t met_at_ = 0;  // steps after which it was compared with the others
  bool joined_ = false;
  bool waits_ = true;                // the target may be waiting when it is told to stop, as far as is known
  std::uint64_t quiet_ = 0;          // steps in a row in which it did not wait
  bool follows_ = false;             // trajectories
  TrajectoryInfo followed_, taken_;  // summed up since they were last taken, and what was taken
  bool keeps_moves_ = false;
  std::vector<double> moves_;  // of the steps since they were last taken
};

class KernelChainMaker final : public ChainMaker {
 public:
  explicit KernelChainMaker(AnyTarget target) : target_(std::move(target)) {}
  std::size_t dimension() const override { return target_.dimension(); }
  std::vector<std::string> names() const override { return target_.names(); }
  RunSettings resolve(RunSettings settings) const override;
  void prepare(const RunSettings& resolved, ThreadPool& pool, const std::atomic<bool>& stop) override;
  bool shares_steps() const override { return target_.has_use_for_pool(); }
  std::unique_ptr<Chain> make(std::size_t number, std::shared_ptr<ThreadPool> pool) override;

 private:
  AnyTarget target_;
  const RunSettings* settings_ = nullptr;  // of the run that is prepared
};

}  // namespace onward
