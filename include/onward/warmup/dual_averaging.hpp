#pragma once
// Steers the step size to a wanted acceptance by Nesterov's dual averaging (Hoffman and Gelman 2014,
// section 3.2).

#include <cmath>

#include "onward/util/archive.hpp"

namespace onward {

class DualAveraging {
 public:
  /// The paper's `shrink` of 0.05 is for acceptances averaged along a trajectory. Those of one proposal are
  /// much noisier: with 0.05 the logarithm of the step size swings so far that its average is off by 0.1 in
  /// acceptance (50 steps after a window, normal of dimension 10); with 0.3 by 0.02.
  static constexpr double for_trajectories = 0.05, for_proposals = 0.3;

  DualAveraging(double target_acceptance, double step_size, double shrink = for_proposals)
      : target_(target_acceptance), shrink_(shrink) {
    restart(step_size);
  }

  /// Begins anew around a step size, as after a change of metric. The first trials aim twice above it.
  void restart(double step_size) {
    centre_ = std::log(2 * step_size);
    log_step_ = std::log(step_size);
    log_average_ = log_step_;
    error_ = 0;
    count_ = 0;
  }

  void update(double acceptance) {
    constexpr double stabilise = 10, decay = 0.75;
    count_ += 1;
    const double weight = 1 / (count_ + stabilise);
    error_ = (1 - weight) * error_ + weight * (target_ - acceptance);
    log_step_ = centre_ - std::sqrt(count_) / shrink_ * error_;
    const double share = std::pow(count_, -decay);
    log_average_ = share * log_step_ + (1 - share) * log_average_;
  }

  void transfer(Archive& archive) { archive(target_, centre_, log_step_, log_average_, error_, count_); }

  double current() const { return std::exp(log_step_); }     ///< to try next
  double average() const { return std::exp(log_average_); }  ///< to keep

 private:
  double target_, shrink_, centre_{}, log_step_{}, log_average_{}, error_{}, count_{};
};

}  // namespace onward
