#pragma once
// The thresholds between ordered classes: the first is 0, and the others follow from the gaps. Classes are
// counted from 0, so that class k lies between threshold k - 1 and threshold k.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "onward/simd/elementary.hpp"

namespace onward::glm {

/// As floats, by class, for rows to look up. What does not exist is far away.
struct ThresholdTable {
  static constexpr float far = 1e6f;
  explicit ThresholdTable(std::span<const double> gaps) : below{-far} {
    double at = 0;
    above.push_back(0.0f);
    below.push_back(0.0f);
    for (const double gap : gaps) {
      at += gap;
      above.push_back(static_cast<float>(at));
      below.push_back(static_cast<float>(at));
    }
    above.push_back(far);
  }
  std::vector<float> above, below;
};

/// The entries of a table that the codes of consecutive rows name.
template <class T>
[[gnu::always_inline]] inline T look_up(const float* table, const std::uint8_t* codes) {
  using S = simd::scalar_t<T>;
  alignas(T) std::array<S, simd::lanes_v<T>> entries;
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = table[codes[i]];
  return T::load_aligned(entries.data());
}

}  // namespace onward::glm
