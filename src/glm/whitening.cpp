#include "onward/glm/whitening.hpp"

#include <Eigen/Cholesky>

#include "onward/error.hpp"

namespace onward::glm {

Whitening whiten(const Eigen::MatrixXd& precision) {
  const Eigen::LLT<Eigen::MatrixXd> factor(precision);
  if (factor.info() != Eigen::Success)
    throw Error(
        "the posterior is flat along some combination of the coefficients: give them a normal prior, or drop "
        "columns that others determine");
  Whitening w;
  w.from_coefficients = factor.matrixU();
  w.to_coefficients = Eigen::MatrixXd::Identity(precision.rows(), precision.cols());
  factor.matrixU().solveInPlace(w.to_coefficients);
  return w;
}

Eigen::MatrixXd shared_precision(const Posterior& posterior, const Floats& weights, ThreadPool& pool) {
  Eigen::MatrixXd precision = posterior.design().gram(weights.data(), pool);
  for (Eigen::Index j = 0; j < precision.rows(); ++j)
    precision(j, j) += posterior.priors()[static_cast<std::size_t>(j)].precision();
  return precision;
}

}  // namespace onward::glm
