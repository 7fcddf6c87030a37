#include "onward/warmup/covariance.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "subspace_metric.hpp"

namespace onward {

void CovarianceLearner::Moments::reset(Eigen::Index size, bool dense) {
  count = 0;
  mean.setZero(size);
  difference.setZero(size);
  if (dense)
    products.setZero(size, size);
  else
    squares.setZero(size);
}

void CovarianceLearner::Moments::add(const Eigen::Ref<const Eigen::VectorXd>& x) {
  ++count;
  const auto n = static_cast<double>(count);
  difference = x - mean;
  mean += difference / n;
  // (x - old mean)(x - new mean)ᵀ is symmetric: the two differences are parallel.
  if (products.size() > 0)
    products.selfadjointView<Eigen::Lower>().rankUpdate(difference, (n - 1) / n);
  else
    squares += (n - 1) / n * difference.cwiseAbs2();
}

CovarianceLearner::CovarianceLearner(MetricKind kind, std::size_t dimension) : kind_(kind) {
  if (kind == MetricKind::none) return;
  places_.reset(static_cast<Eigen::Index>(dimension), kind == MetricKind::dense);
  gradients_.reset(static_cast<Eigen::Index>(dimension), kind == MetricKind::dense);
}

void CovarianceLearner::clear() {
  places_.reset(places_.mean.size(), kind_ == MetricKind::dense);
  gradients_.reset(places_.mean.size(), kind_ == MetricKind::dense);
  kept_.clear();
  kept_gradients_.clear();
  stride_ = 1;
}

void CovarianceLearner::add(std::span<const double> position, std::span<const double> gradient) {
  if (kind_ == MetricKind::none) return;
  const auto size = static_cast<Eigen::Index>(position.size());
  const Eigen::Map<const Eigen::VectorXd> x(position.data(), size);
  const Eigen::Map<const Eigen::VectorXd> g(gradient.data(), static_cast<Eigen::Index>(gradient.size()));
  places_.add(x);
  if (!gradient.empty() && g.allFinite()) gradients_.add(g);
  if (kind_ == MetricKind::diag || places_.count % stride_ != 0) return;
  kept_.emplace_back(x);
  if (with_gradients())
    kept_gradients_.emplace_back(g);
  else
    kept_gradients_.clear();  // of all places or of none
  if (kept_.size() < most_places(position.size())) return;
  for (auto* list : {&kept_, &kept_gradients_}) {
    for (std::size_t i = 0; 2 * i + 1 < list->size(); ++i) (*list)[i].swap((*list)[2 * i + 1]);
    list->resize(list->size() / 2);
  }
  stride_ *= 2;
}

void CovarianceLearner::transfer(Archive& archive) {
  for (Moments* m : {&places_, &gradients_})
    archive(m->count, m->mean, m->difference, m->squares, m->products);
  kept_.resize(archive.count(kept_.size(), sizeof(double)));
  for (Eigen::VectorXd& place : kept_) archive(place);
  kept_gradients_.resize(archive.count(kept_gradients_.size(), sizeof(double)));
  for (Eigen::VectorXd& gradient : kept_gradients_) archive(gradient);
  archive(stride_);
}

Metric CovarianceLearner::metric() const {
  if (kind_ == MetricKind::none || places_.count < 2) return {};
  switch (kind_) {
    case MetricKind::dense:
      return dense();
    case MetricKind::lowrank:
      return lowrank();
    default:
      return Metric::diagonal(scales());
  }
}

double CovarianceLearner::log_volume() const {
  double sum = 0;
  if (kind_ != MetricKind::none && places_.count >= 2)
    for (const double scale : scales()) sum += std::log(scale);
  return sum;
}

std::vector<double> CovarianceLearner::scales() const {
  const auto n = static_cast<double>(places_.count);
  const double trust = n / (n + 5), prior = 1e-3 * 5 / (n + 5);
  const auto spread = [](const Moments& m, Eigen::Index i) {
    return (m.products.size() > 0 ? m.products(i, i) : m.squares[i]) / static_cast<double>(m.count - 1);
  };
  std::vector<double> scale;
  for (Eigen::Index i = 0; i < places_.mean.size(); ++i) {
    double variance = trust * spread(places_, i) + prior;
    if (with_gradients()) {
      const double g = spread(gradients_, i), both = std::sqrt(spread(places_, i) / g);
      if (g > 0 && both > 0 && std::isfinite(both)) variance = both;
    }
    scale.push_back(std::sqrt(variance));
  }
  return scale;
}

Metric CovarianceLearner::dense() const {
  const auto n = static_cast<double>(places_.count);
  // With few places the narrow directions of a matrix would be chance.
  if (places_.count < 2 * static_cast<std::size_t>(places_.mean.size()))
    return with_gradients() ? subspace() : Metric::diagonal(scales());
  Eigen::MatrixXd covariance = places_.products.selfadjointView<Eigen::Lower>();
  covariance /= n - 1;
  if (with_gradients()) {
    const Eigen::MatrixXd of_gradients = gradients_.products.selfadjointView<Eigen::Lower>();
    const Eigen::MatrixXd both = geometric_mean(covariance, of_gradients / (n - 1));
    const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> cholesky(both);
    if (cholesky.info() == Eigen::Success && both.allFinite()) return Metric::dense(cholesky.matrixL());
  }
  covariance *= n / (n + 5);
  covariance.diagonal().array() += 1e-3 * 5 / (n + 5);
  const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> cholesky(covariance);
  if (cholesky.info() != Eigen::Success) return {};
  return Metric::dense(cholesky.matrixL());
}

/// Directions in which the scaled places spread by more than places of a standard normal would: with n places
/// in D dimensions sample eigenvalues up to (1 + √(D/n))² are chance. A spike λ above it belongs to a true
/// variance ℓ with λ = ℓ (1 + γ/(ℓ - 1)), γ = D/n, and its direction has cosine² (1 - γ/(ℓ-1)²) / (1 +
/// γ/(ℓ-1)) with the true one (Baik and Silverstein 2006, Paul 2007): the metric widens by what can be
/// trusted of it.
Metric CovarianceLearner::lowrank() const {
  if (with_gradients()) return subspace();
  std::vector<double> scale = scales();
  constexpr Eigen::Index most_directions = 20;
  const auto n = static_cast<Eigen::Index>(kept_.size());
  const Eigen::Index size = places_.mean.size();
  if (n < 10) return Metric::diagonal(std::move(scale));
  const Eigen::Map<const Eigen::VectorXd> widths(scale.data(), size);
  Eigen::MatrixXd scaled(size, n);
  for (Eigen::Index i = 0; i < n; ++i)
    scaled.col(i) = (kept_[static_cast<std::size_t>(i)] - places_.mean).cwiseQuotient(widths);
  const double degrees = static_cast<double>(n - 1);
  const Eigen::MatrixXd gram = scaled.transpose() * scaled / degrees;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
  if (solver.info() != Eigen::Success) return Metric::diagonal(std::move(scale));
  const double gamma = static_cast<double>(size) / degrees;
  const double chance = std::pow(1 + std::sqrt(gamma), 2) * 1.1;
  std::vector<double> gains;
  Eigen::MatrixXd directions(size, std::min(most_directions, n));
  for (Eigen::Index k = n - 1; k >= 0 && static_cast<Eigen::Index>(gains.size()) < directions.cols(); --k) {
    const double lambda = solver.eigenvalues()[k];
    if (lambda <= chance) break;
    const double b = lambda + 1 - gamma;
    const double spike = (b + std::sqrt(std::max(0.0, b * b - 4 * lambda))) / 2;
    const double trust = (1 - gamma / ((spike - 1) * (spike - 1))) / (1 + gamma / (spike - 1));
    directions.col(static_cast<Eigen::Index>(gains.size())) =
        scaled * solver.eigenvectors().col(k) / std::sqrt(degrees * lambda);
    gains.push_back(std::sqrt(1 + (spike - 1) * std::max(0.0, trust)) - 1);
  }
  if (gains.empty()) return Metric::diagonal(std::move(scale));
  const auto count = static_cast<Eigen::Index>(gains.size());
  return Metric::lowrank(std::move(scale), directions.leftCols(count),
                         Eigen::Map<const Eigen::VectorXd>(gains.data(), count));
}

Metric CovarianceLearner::subspace() const {
  std::vector<double> scale = scales();
  const auto n = static_cast<Eigen::Index>(kept_.size());
  if (n < 5 || kept_gradients_.size() != kept_.size()) return Metric::diagonal(std::move(scale));
  const Eigen::Index size = places_.mean.size();
  const Eigen::Map<const Eigen::VectorXd> widths(scale.data(), size);
  Eigen::MatrixXd places(size, n), gradients(size, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    places.col(i) = kept_[static_cast<std::size_t>(i)];
    gradients.col(i) = kept_gradients_[static_cast<std::size_t>(i)];
  }
  places.colwise() -= places.rowwise().mean().eval();
  gradients.colwise() -= gradients.rowwise().mean().eval();
  places.array().colwise() /= widths.array();
  gradients.array().colwise() *= widths.array();
  return subspace_metric(std::move(scale), places, gradients);
}

}  // namespace onward
