#pragma once
// Importance sampling from the posterior of the built-in logistic regression: a Student-t proposal around the
// mode.

#include <span>

#include <Eigen/Core>

#include "logistic.hpp"
#include "onward/random/stream.hpp"

namespace onward::models {

class LogisticPosterior {
 public:
  LogisticPosterior();
  /// A draw and its log weight.
  double draw(const Stream& stream, std::span<double> out) const;

 private:
  LogisticDensity density_;
  Eigen::VectorXd mode_;
  Eigen::MatrixXd factor_;  ///< upper triangle U with UᵀU the negative Hessian at the mode
};

}  // namespace onward::models
