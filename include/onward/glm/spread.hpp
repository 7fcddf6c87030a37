#pragma once
// Where outcomes lie and how far they spread, offsets taken off: the units of default priors.

#include <cmath>
#include <cstddef>
#include <span>

namespace onward::glm {

struct Spread {
  double mean = 0, sd = 0;
};

/// `offset` is empty or has an entry for each y.
inline Spread spread_of(std::span<const double> y, std::span<const double> offset) {
  const auto n = static_cast<double>(y.size());
  const auto each = [&](std::size_t i) { return offset.size() == y.size() ? y[i] - offset[i] : y[i]; };
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < y.size(); ++i) mean += each(i) / n;
  for (std::size_t i = 0; i < y.size(); ++i) squares += (each(i) - mean) * (each(i) - mean);
  return {mean, std::sqrt(squares / n)};
}

}  // namespace onward::glm
