#pragma once
// Shifts that leave the predictor as it is: what is added to coefficients is taken from effects. A predictor
// that is constant within the levels of a factor, the intercept above all, can be had from either, and the
// data tell of their sum alone.

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "onward/glm/mixed_posterior.hpp"

namespace onward::glm {

/// Adding delta to a coefficient and taking away c_l delta from one column of the effects of each level l.
struct ShiftColumn {
  std::size_t coefficient;      ///< whose column of X it is
  std::size_t column;           ///< of the term
  std::vector<float> of_level;  ///< c; empty: 1 everywhere
  double to_intercept = 0;      ///< what delta adds to the intercept besides, for a column that was centred

  double at(std::size_t level) const { return of_level.empty() ? 1.0 : static_cast<double>(of_level[level]); }
};

struct Shift {
  std::size_t term;
  std::vector<ShiftColumn> columns;
  Eigen::MatrixXd products;  ///< sum over levels of c_j c_k
};

/// A term whose levels each lie within one level of another term: what is added to that level is taken from
/// the levels within it, in a column that both have.
struct NestedShift {
  std::size_t outer, inner;
  std::size_t outer_column, inner_column;
  std::vector<std::uint32_t> parent;  ///< the outer level of each inner one
};

std::vector<Shift> find_shifts(const MixedPosterior& posterior);
std::vector<NestedShift> find_nested_shifts(const MixedPosterior& posterior);

}  // namespace onward::glm
