#include "onward/diagnostics/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace onward {

ClassScores judge_classes(std::span<const double> p, std::span<const std::uint8_t> labels, std::size_t k) {
  constexpr std::size_t bins = 100;
  ClassScores result;
  std::vector<double> confidence(bins), right(bins);
  const auto n = static_cast<double>(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = p.subspan(i * k, k);
    const auto top = std::max_element(row.begin(), row.end());
    const bool correct = top - row.begin() == labels[i];
    // Equal bins of the top probability; 1 belongs to the last.
    const auto bin = std::min(static_cast<std::size_t>(*top * bins), bins - 1);
    confidence[bin] += *top;
    right[bin] += correct ? 1 : 0;
    result.accuracy += correct ? 1 : 0;
    result.nll -= std::log(std::max(row[labels[i]], 1e-300)) / n;
  }
  result.accuracy /= n;
  for (std::size_t bin = 0; bin < bins; ++bin) result.ece += std::abs(confidence[bin] - right[bin]) / n;
  return result;
}

}  // namespace onward
