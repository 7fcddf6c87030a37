#pragma once
// Coordinates in which a posterior is nearly a standard normal: beta = centre + A u, with A upper triangular
// and A A^T the inverse of the precision at the mode. Along the axes of u updates are nearly independent.

#include <Eigen/Core>

#include "onward/glm/posterior.hpp"

namespace onward::glm {

struct Whitening {
  Eigen::MatrixXd to_coefficients;    ///< A: column j is what one unit of u_j adds to the coefficients
  Eigen::MatrixXd from_coefficients;  ///< its inverse
};

/// Throws Error if the precision is not positive definite.
Whitening whiten(const Eigen::MatrixXd& precision);

/// For categorical: X^T W X + prior, one matrix for all classes; W is diagonal and holds the mean over
/// classes of p (1 - p) in each row. Classes differ little in it, and it need not be exact.
Eigen::MatrixXd shared_precision(const Posterior& posterior, const Floats& weights, ThreadPool& pool);

}  // namespace onward::glm
