#pragma once
// When warm-up learns what, much as in Stan: a first stretch in which a chain arrives, then windows of
// doubling length at whose end the metric is renewed, then a last stretch for the step size alone. The metric
// is also renewed at the end of the first stretch, from what its second half has shown.

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
    slow_end_ = total_ - last;
    constexpr std::size_t least = 20;  // sweeps of a first stretch that tells something
    arrived_ = first < least ? 0 : first;
    slow_begin_ = first < least ? first : first / 2;
    next_ = first < least ? first + window_ : first;
    begin_ = slow_begin_;
    if (arrived_ == 0) stretch();
  }

  /// Sweeps of the first stretch: then chains can be compared. 0 if warm-up is too short for that.
  std::size_t arrived() const { return arrived_; }

  /// The sweep after which the next window ends, or the first stretch; 0 if none is left.
  std::size_t next_end() const { return next_ > slow_end_ ? 0 : next_; }

  /// Sweeps of the window that has begun: in the first stretch of those that are learned from.
  std::size_t current() const { return next_ > slow_end_ ? 0 : next_ - begin_; }

  std::size_t ended() const { return ended_; }

  /// Whether the place reached after sweep number `sweep` (from 1) is to be learned from.
  bool learns(std::size_t sweep) const { return sweep > slow_begin_ && sweep <= slow_end_; }

  /// Whether a window ends after that sweep; moves on to the next window.
  bool ends(std::size_t sweep) {
    if (sweep != next_ || sweep > slow_end_) return false;
    if (sweep > arrived_) window_ *= 2;
    ++ended_;
    begin_ = next_;
    next_ += window_;
    stretch();
    return true;
  }

  void transfer(Archive& archive) {
    archive(total_, window_, arrived_, slow_begin_, slow_end_, begin_, next_, ended_);
  }

 private:
  // A window whose successor would not fit takes all that is left.
  void stretch() {
    if (next_ + 2 * window_ > slow_end_) next_ = next_ > slow_end_ ? total_ + 1 : slow_end_;
  }

  std::size_t total_, window_, arrived_ = 0, slow_begin_{}, slow_end_{}, begin_ = 0, next_{}, ended_ = 0;
};

}  // namespace onward
