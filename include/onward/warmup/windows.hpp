#pragma once
// When warm-up learns what, as in Stan: a first stretch for the step size alone, then windows of doubling
// length at whose end the metric is renewed, then a last stretch for the step size alone.

#include <cstddef>

#include "onward/util/archive.hpp"

namespace onward {

/// All lengths count sweeps: one step for most kernels, D steps for line kernels.
class WarmUpWindows {
 public:
  /// `shortest`: sweeps that the first window has at least, if warm-up is long enough for that.
  explicit WarmUpWindows(std::size_t sweeps, std::size_t shortest = 25) : total_(sweeps) {
    std::size_t first = 75, last = 50;
    window_ = shortest;
    if (total_ < 20) {  // too short to learn a metric
      slow_begin_ = slow_end_ = total_;
      next_ = total_ + 1;
      return;
    }
    if (first + window_ + last > total_) {
      first = total_ * 15 / 100;
      last = total_ / 10;
      window_ = total_ - first - last;
    }
    slow_begin_ = first;
    slow_end_ = total_ - last;
    next_ = slow_begin_ + window_;
    stretch();
  }

  /// Whether the place reached after sweep number `sweep` (from 1) is to be learned from.
  bool learns(std::size_t sweep) const { return sweep > slow_begin_ && sweep <= slow_end_; }

  /// Whether a window ends after that sweep; moves on to the next window.
  bool ends(std::size_t sweep) {
    if (sweep != next_ || sweep > slow_end_) return false;
    window_ *= 2;
    next_ += window_;
    stretch();
    return true;
  }

  void transfer(Archive& archive) { archive(total_, window_, slow_begin_, slow_end_, next_); }

 private:
  // A window whose successor would not fit takes all that is left.
  void stretch() {
    if (next_ + 2 * window_ > slow_end_) next_ = next_ > slow_end_ ? total_ + 1 : slow_end_;
  }

  std::size_t total_, window_, slow_begin_{}, slow_end_{}, next_{};
};

}  // namespace onward
