#include "onward/warmup/covariance.hpp"

#include <cmath>

#include <Eigen/Cholesky>

namespace onward {

CovarianceLearner::CovarianceLearner(MetricKind kind, std::size_t dimension) : kind_(kind) {
  if (kind == MetricKind::none) return;
  const auto size = static_cast<Eigen::Index>(dimension);
  mean_.setZero(size);
  before_.setZero(size);
  after_.setZero(size);
  if (kind == MetricKind::diag)
    squares_.setZero(size);
  else
    products_.setZero(size, size);
}

void CovarianceLearner::clear() {
  count_ = 0;
  mean_.setZero();
  squares_.setZero();
  products_.setZero();
}

void CovarianceLearner::add(std::span<const double> position) {
  if (kind_ == MetricKind::none) return;
  const Eigen::Map<const Eigen::VectorXd> x(position.data(), static_cast<Eigen::Index>(position.size()));
  ++count_;
  before_ = x - mean_;
  mean_ += before_ / static_cast<double>(count_);
  after_ = x - mean_;
  if (kind_ == MetricKind::diag) {
    squares_ += before_.cwiseProduct(after_);
  } else {
    // (x - old mean)(x - new mean)ᵀ is symmetric: the two differences are parallel.
    const double share = static_cast<double>(count_ - 1) / static_cast<double>(count_);
    products_.selfadjointView<Eigen::Lower>().rankUpdate(before_, share);
  }
}

Metric CovarianceLearner::metric() const {
  if (kind_ == MetricKind::none || count_ < 2) return {};
  const auto n = static_cast<double>(count_);
  const double trust = n / (n + 5), prior = 1e-3 * 5 / (n + 5);
  if (kind_ == MetricKind::diag) {
    std::vector<double> scale(static_cast<std::size_t>(squares_.size()));
    for (Eigen::Index i = 0; i < squares_.size(); ++i)
      scale[static_cast<std::size_t>(i)] = std::sqrt(trust * squares_[i] / (n - 1) + prior);
    return Metric::diagonal(std::move(scale));
  }
  Eigen::MatrixXd covariance = trust / (n - 1) * products_;
  covariance.diagonal().array() += prior;
  const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> cholesky(covariance);
  if (cholesky.info() != Eigen::Success) return {};
  return Metric::dense(cholesky.matrixL());
}

}  // namespace onward
