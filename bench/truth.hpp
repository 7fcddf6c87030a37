#pragma once
// What is known of posteriors without closed form, computed from independent draws.

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace onward::bench {

/// The text of models/reference_moments.hpp. `progress` hears of pieces done and in all; nothing is returned
/// once `stop` is set.
std::optional<std::string> make_truth(std::size_t draws,
                                      const std::function<void(std::size_t, std::size_t)>& progress,
                                      const std::atomic<bool>& stop);

}  // namespace onward::bench
