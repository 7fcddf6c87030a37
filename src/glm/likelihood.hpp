#pragma once
// The log likelihood of a regression as a function of its coefficients, which Newton's method climbs and
// which tells whether the data are separable.

#include <cstddef>

#include <Eigen/Core>

#include "eigen_index.hpp"
#include "onward/glm/posterior.hpp"

namespace onward::glm {

class Likelihood {
 public:
  Likelihood(const RegressionPosterior& of, ThreadPool& threads)
      : posterior(of),
        x(of.design()),
        y(of.observations()),
        pool(threads),
        numbers(of.starting_numbers()),
        eta(padded_rows(y.rows())),
        rows_(eta.size()) {}

  /// Sets eta to the predictor at beta.
  void predict(const Eigen::VectorXd& beta) {
    x.multiply({beta.data(), static_cast<std::size_t>(beta.size())}, eta.data(), pool);
    for (std::size_t i = 0; i < y.offset().size(); ++i) eta[i] += y.offset()[i];
  }

  double value(const Eigen::VectorXd& beta) {
    predict(beta);
    return y.sums({.eta = eta.data(), .numbers = numbers}, pool).value + y.constant(numbers);
  }

  /// The gradient, and minus the Hessian.
  void derivatives(const Eigen::VectorXd& beta, Eigen::VectorXd& gradient, Eigen::MatrixXd& precision) {
    predict(beta);
    // First the slopes of the rows and then their weights, in the same memory: a pass costs less than that.
    y.row_slopes(eta.data(), numbers, rows_.data(), nullptr, pool);
    gradient.resize(beta.size());
    x.multiply_transposed(rows_.data(), 1, {gradient.data(), x.columns()}, pool);
    y.row_slopes(eta.data(), numbers, nullptr, rows_.data(), pool);
    precision = x.gram(rows_.data(), pool);
  }

  const RegressionPosterior& posterior;
  const Design& x;
  const Observations& y;
  ThreadPool& pool;
  FamilyNumbers numbers;
  Floats eta;  ///< the predictor that was last asked for

 private:
  Floats rows_;  // a number for each row
};

}  // namespace onward::glm
