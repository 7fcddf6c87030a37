#pragma once
// A run that stops when it is done: judged after fixed numbers of draws that double, never by the clock, so
// that the same seed stops at the same draw everywhere.

#include <atomic>
#include <functional>

#include "onward/run/run.hpp"

namespace onward {

/// The draws after which a run that has so many a chain is next judged, or after which it ends.
std::size_t first_limit(const RunSettings& settings, std::size_t draws);
std::size_t next_limit(const RunSettings& settings, std::size_t limit);

/// Whether bulk and tail ESS of the first `judged` parameters are at least `wanted` and R-hat is below 1.01.
/// `look` is called now and then; if `stop` becomes true the answer means nothing.
bool is_enough(const Run& run, double wanted, std::size_t judged, const std::atomic<bool>& stop,
               const std::function<void()>& look);

}  // namespace onward
