#pragma once
// A metric from fewer places than dimensions: what can be learned of a covariance is in the space that the
// places and the gradients span.

#include <vector>

#include <Eigen/Core>

#include "onward/direction/metric.hpp"

namespace onward {

/// Σ with Σ B Σ = A: the geometric mean of A and B⁻¹. Both are given by their lower triangles.
Eigen::MatrixXd geometric_mean(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

/// Columns are places and gradients less their means, in units in which they spread alike along each axis,
/// which `scale` gives. Wide directions show in the places, narrow ones in the gradients; elsewhere nothing
/// is known and the scales stay as they are. Empty `gradients` are not for this.
Metric subspace_metric(std::vector<double> scale, const Eigen::MatrixXd& places,
                       const Eigen::MatrixXd& gradients);

}  // namespace onward
