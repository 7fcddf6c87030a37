#pragma once
// The mode of a regression's posterior by Newton's method, and what the data give away on the way there:
// separable classes, collinear and constant columns.

#include <string>
#include <vector>

#include <Eigen/Core>

#include "onward/glm/posterior.hpp"

namespace onward::glm {

struct Mode {
  std::vector<double> coefficients;
  double scale = 1;           ///< sigma or phi there
  Eigen::MatrixXd precision;  ///< minus the Hessian by the coefficients
  std::size_t iterations = 0;
  std::vector<std::string> warnings;  ///< sentences about the data
};

/// Not for categorical. Throws Error where there is no mode: separable data or dependent columns under a flat
/// prior.
Mode find_mode(const Posterior& posterior, ThreadPool& pool);

/// Sentences about columns that are constant beside an intercept, or that others determine; empty if none.
/// `gram` is X^T X.
std::vector<std::string> dependent_columns(const Design& x, const Eigen::MatrixXd& gram);

/// The sentences that find_mode and dependent_columns have for these data; throws as find_mode.
std::vector<std::string> data_warnings(const Posterior& posterior, ThreadPool& pool);

}  // namespace onward::glm
