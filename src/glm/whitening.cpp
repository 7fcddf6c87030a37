#include "onward/glm/whitening.hpp"

#include <Eigen/Cholesky>

#include "onward/error.hpp"

namespace onward::glm {
namespace {

[[noreturn]] void throw_flat() {
  throw Error(
      "the posterior is flat along some combination of the coefficients: give them a normal prior, or drop "
      "columns that others determine");
}

}  // namespace

Whitening whiten(const Eigen::MatrixXd& precision) {
  const Eigen::LLT<Eigen::MatrixXd> factor(precision);
  if (factor.info() != Eigen::Success) throw_flat();
  Whitening w;
  w.from_coefficients = factor.matrixU();
  w.to_coefficients = Eigen::MatrixXd::Identity(precision.rows(), precision.cols());
  factor.matrixU().solveInPlace(w.to_coefficients);
  return w;
}

Eigen::MatrixXd shared_precision(const RegressionPosterior& posterior, const Floats& weights,
                                 ThreadPool& pool) {
  const std::size_t stride = padded_rows(posterior.design().rows()), classes = weights.size() / stride;
  const auto precision_of = [&](const float* rows) {
    Eigen::MatrixXd precision = posterior.design().gram(rows, pool);
    for (Eigen::Index j = 0; j < precision.rows(); ++j)
      precision(j, j) += posterior.priors()[static_cast<std::size_t>(j)].precision();
    return precision;
  };
  if (classes == 1) return precision_of(weights.data());

  // Matrices are made one after the other, not kept: they may be large.
  Floats mean_weights(stride, 0.0f);
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t i = 0; i < stride; ++i)
      mean_weights[i] += weights[k * stride + i] / static_cast<float>(classes);
  const Eigen::MatrixXd mean = precision_of(mean_weights.data());
  const auto inverse = [&](const Eigen::MatrixXd& matrix) -> Eigen::MatrixXd {
    const Eigen::LLT<Eigen::MatrixXd> factor(matrix);
    if (factor.info() != Eigen::Success) throw_flat();
    return factor.solve(Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols()));
  };
  constexpr double least = 0.01;
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(mean.rows(), mean.cols());
  for (std::size_t k = 0; k < classes; ++k)
    covariance += inverse(precision_of(weights.data() + k * stride) + least * mean);
  return inverse(covariance / static_cast<double>(classes));
}

}  // namespace onward::glm
