#pragma once
// Group-level effects: a term (1 + x | g) of a formula gives every level of the factor g coefficients of its
// own, which come from a common normal distribution with standard deviations and correlations to be
// estimated.

#include <string>
#include <vector>

#include "onward/glm/family.hpp"
#include "onward/glm/level_codes.hpp"
#include "onward/glm/prior.hpp"

namespace onward::glm {

/// The columns of one term and the level that each row belongs to.
struct GroupTerm {
  std::string factor;                ///< "g"
  std::vector<std::string> levels;   ///< what the levels are called
  LevelCodes level_of_row;           ///< one for each row, below levels.size()
  std::vector<std::string> columns;  ///< "Intercept", "x", ...
  std::vector<Floats> values;        ///< of each column, padded; empty for a column of ones

  std::size_t width() const { return columns.size(); }
  std::size_t count() const { return levels.size(); }
  /// Numbers that say what the standard deviations and the correlations are.
  std::size_t correlations() const { return width() * (width() - 1) / 2; }
  float value(std::size_t column, std::size_t row) const {
    return values[column].empty() ? 1.0f : values[column][row];
  }
};

/// What is believed of a term's standard deviations, each cut at 0, and of its correlations: LKJ.
struct GroupPriors {
  std::vector<Prior> sds;  ///< one for each column
  double lkj = 1;          ///< 1: uniform over correlation matrices; larger: nearer to none
};

}  // namespace onward::glm
