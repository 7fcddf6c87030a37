#pragma once
// How long something has taken.

#include <chrono>

namespace onward {

/// Never set back, so differences of its times are durations.
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace onward
