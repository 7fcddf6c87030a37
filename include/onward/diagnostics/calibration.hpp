#pragma once
// How well probabilities of classes tell what came.

#include <cstddef>
#include <cstdint>
#include <span>

namespace onward {

struct ClassScores {
  double nll = 0;       ///< mean of -log of the probability of what came
  double accuracy = 0;  ///< share of rows whose likeliest class came
  double ece = 0;  ///< expected calibration error: |confidence - accuracy|, by bins of the top probability
};

/// From probabilities (row after row, a class each) and labels. The calibration error is that of the paper's
/// tables: 100 bins of equal width, each weighted by its share of rows.
ClassScores judge_classes(std::span<const double> probabilities, std::span<const std::uint8_t> labels,
                          std::size_t classes);

}  // namespace onward
