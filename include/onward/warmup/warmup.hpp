#pragma once
// Warm-up: finds a step size and a metric while the chain travels to where the mass is, then freezes into a
// kernel with fixed settings. The two are different types, so that nothing can adapt while draws are kept.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"
#include "onward/warmup/covariance.hpp"
#include "onward/warmup/dual_averaging.hpp"
#include "onward/warmup/windows.hpp"

namespace onward {

struct WarmUpSettings {
  KernelSettings kernel;  ///< its step size is where the search begins, or stays if that is switched off
  bool adapt_step_size = true;
  double target_acceptance = 0;  ///< 0: the sampler's own
  MetricKind metric = MetricKind::diag;
  std::size_t steps = 1000;
  std::size_t sweep = 1;  ///< steps that make a sweep: D for line kernels
  std::string directions = "auto";
};

/// What sampling uses: nothing in here changes any more.
struct FrozenKernel {
  Metric metric;
  Kernel kernel;
  Directions directions;
};

class WarmUp {
 public:
  WarmUp(const WarmUpSettings& settings, const AnyTarget& target);

  /// Before the first step: climbs to where draws may be, and takes scales from what the climb has shown.
  /// Nothing happens if no metric is to be learned. Throws Stopped as the search does; a hurry ends the
  /// climb.
  void arrive(State& state, AnyTarget& target, const std::atomic<bool>* stop = nullptr,
              const std::atomic<bool>* hurry = nullptr);

  /// Doubles or halves the step size until the acceptance of trial steps from this state crosses the target.
  /// The state is left as it is. Throws Stopped once `stop` is true, and has changed nothing then.
  void search_step_size(const State& state, AnyTarget& target, const Stream& stream, Workspace& workspace,
                        const std::atomic<bool>* stop = nullptr);

  /// One adaptive step; `number` counts from 1. The first step of a window begins with a search for a step
  /// size: throws Stopped if `stop` becomes true in it, and has changed nothing then.
  StepInfo step(State& state, AnyTarget& target, const Stream& stream, std::uint64_t number,
                Workspace& workspace, const std::atomic<bool>* stop = nullptr);

  /// Steps after which the next window ends, or the first stretch, and chains can be compared; 0: none is
  /// left.
  std::uint64_t next_end() const {
    return windows_.arrived() > 0 && settings_.metric != MetricKind::none
               ? windows_.next_end() * settings_.sweep
               : 0;
  }
  /// There: an estimate of how much mass there is where the chain is, as a logarithm and up to a
  /// constant. A narrow peak may be as heavy as a wide hill: the volume counts as the height does.
  double log_mass() const;

  /// All that decides how it goes on, from or to an archive.
  void transfer(Archive& archive);

  double frozen_step_size() const;  ///< that of freeze()
  FrozenKernel freeze() const&;
  FrozenKernel freeze() &&;  ///< the same; directions of a large model are not copied

 private:
  void set_step_size(double step_size);
  void end_window(State& state, AnyTarget& target, const Stream& stream, std::uint64_t number,
                  Workspace& workspace, const std::atomic<bool>* stop);
  void begin_window(const AnyTarget& target);
  void limit_depth();
  bool learns_from(std::uint64_t step) const;
  std::span<const double> gradient_at(const State& state, AnyTarget& target);

  WarmUpSettings settings_;
  Metric metric_;
  Kernel kernel_;
  Directions directions_;
  DualAveraging averaging_;
  CovarianceLearner learner_;
  WarmUpWindows windows_;
  double target_acceptance_;
  std::uint64_t searches_ = 0;
  std::uint64_t extra_places_ = 0;  // a place to learn from every so many steps within a sweep; 0: at its end
  double level_sum_ = 0, level_count_ = 0;  // of log densities since the learner was cleared
  std::vector<double> gradient_;
};

/// Throws UsageError, with the sizes and the remedy, where a dense metric of that dimension cannot fit.
void check_dense_metric(std::size_t dimension, std::size_t chains);

}  // namespace onward
