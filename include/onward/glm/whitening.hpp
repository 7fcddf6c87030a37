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

/// For categorical: one matrix for all classes, from the weights p (1 - p) of the rows for each class, class
/// after class (or for one that stands for all). It is the inverse of the mean over classes of their
/// covariances (X^T W_k X + prior)^-1, so that in coordinates whitened by it no class is wide, and slow to
/// explore: the mean of the precisions leaves directions that few classes are sure of far too narrow for the
/// others. A class that hardly any row tells of counts as at most 10
/// times as wide as the mean of the precisions would be, or it alone would decide the coordinates of all.
Eigen::MatrixXd shared_precision(const RegressionPosterior& posterior, const Floats& weights,
                                 ThreadPool& pool);

}  // namespace onward::glm
