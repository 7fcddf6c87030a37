#pragma once
// The mode of a regression's posterior by Newton's method, and what the data give away on the way there:
// outcomes that columns tell without error, collinear and constant columns, y fitted exactly.

#include <string>
#include <vector>

#include <Eigen/Core>

#include "onward/glm/posterior.hpp"

namespace onward::glm {

struct Mode {
  std::vector<double> coefficients;
  std::vector<double> numbers;  ///< of the family, there
  Eigen::MatrixXd precision;    ///< minus the Hessian by the coefficients
  /// Minus the Hessian by coefficients (rows) and the logs of the numbers that are sampled, and by the latter
  /// alone: of families whose numbers hang together with the coefficients; else empty.
  Eigen::MatrixXd cross, number_precision;
  std::size_t iterations = 0;
  std::vector<std::string> warnings;  ///< sentences about the data
};

/// Not for categorical. Throws Error where there is no mode: separable or quasi-separable data, dependent
/// columns, or a gaussian y fitted exactly, under a flat prior.
Mode find_mode(const RegressionPosterior& posterior, ThreadPool& pool);

/// The sentences that find_mode has for these data; throws as it does. Categorical: those
/// about columns that others determine and about missing classes; throws if a prior is flat.
std::vector<std::string> data_warnings(const RegressionPosterior& posterior, ThreadPool& pool);

}  // namespace onward::glm
