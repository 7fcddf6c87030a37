#pragma once
// How long work that has no result when it is cut ends early: it looks at a flag between evaluations and
// throws.

#include <atomic>

namespace onward {

/// Not an error: whoever catches it leaves everything as it was before that work began.
struct Stopped {};

inline void throw_if_stopped(const std::atomic<bool>* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Stopped();
}

}  // namespace onward
