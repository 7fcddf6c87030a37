#pragma once
// Where numbers lie and how far they spread: the units of default priors.

#include <cmath>
#include <cstddef>
#include <span>

namespace onward::glm {

struct Spread {
  double mean = 0, sd = 0;
};

/// Of `count` numbers `each(i)`, the i-th counted `weight(i)` times, as if it stood there so often. Equal
/// numbers have an sd of exactly 0.
template <class Each, class Weight>
Spread spread_of(std::size_t count, const Each& each, const Weight& weight) {
  std::size_t first = 0;
  while (first < count && !(weight(first) > 0)) ++first;
  if (first == count) return {};
  const double origin = each(first);
  double total = 0, sum = 0, squares = 0;
  for (std::size_t i = first; i < count; ++i) {
    total += weight(i);
    sum += weight(i) * (each(i) - origin);
  }
  const double shift = sum / total;
  for (std::size_t i = first; i < count; ++i) {
    const double off = each(i) - origin - shift;
    squares += weight(i) * off * off;
  }
  return {origin + shift, std::sqrt(squares / total)};
}

/// Of y, offsets taken off: `offset` is empty or has an entry for each y.
inline Spread spread_of(std::span<const double> y, std::span<const double> offset) {
  return spread_of(
      y.size(), [&](std::size_t i) { return offset.size() == y.size() ? y[i] - offset[i] : y[i]; },
      [](std::size_t) { return 1.0; });
}

}  // namespace onward::glm
