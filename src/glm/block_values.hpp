#pragma once
// The log likelihood at many places at once. Rows are read once for all of them: a few rows at a time are
// multiplied with the coefficients of every place while they are in the nearest cache.

#include <span>

#include "onward/glm/design.hpp"
#include "onward/glm/family.hpp"

namespace onward::glm {

/// Places in the coordinates of the columns, one after the other, and the family's numbers at each.
struct Places {
  std::span<const double> coefficients;
  std::span<const FamilyNumbers> numbers;
};

/// Writes the sum over rows of the log likelihood at base + columns * coefficients, constant() included. What
/// a place gets does not depend on the others, nor on threads.
void log_likelihoods(const PanelColumns& columns, const Observations& y, const float* base,
                     const Places& places, std::span<double> out, ThreadPool& pool);

}  // namespace onward::glm
