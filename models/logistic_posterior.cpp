#include "logistic_posterior.hpp"

#include <cmath>
#include <vector>

#include <Eigen/Cholesky>

namespace onward::models {
namespace {

constexpr std::size_t dimension = logistic_predictors + 1;
constexpr double degrees = 20;

}  // namespace

LogisticPosterior::LogisticPosterior() : density_(logistic_density()) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rows = static_cast<Eigen::Index>(density_.rows());
  const Eigen::Map<const RowMajor> x(density_.x().data(), rows, dimension);
  const Eigen::Map<const Eigen::VectorXd> y(density_.y().data(), rows);
  mode_.setZero(dimension);
  Eigen::MatrixXd precision;
  for (int round = 0; round < 50;
       ++round) {  // Newton; the log density is concave and 50 far more than needed
    const Eigen::ArrayXd p = 1 / (1 + (-(x * mode_)).array().exp());
    precision = x.transpose() * (p * (1 - p)).matrix().asDiagonal() * x;
    precision.diagonal().array() += 1;
    mode_ += precision.llt().solve(x.transpose() * (y.array() - p).matrix() - mode_);
  }
  factor_ = precision.llt().matrixU();
}

double LogisticPosterior::draw(const Stream& stream, std::span<double> out) const {
  Eigen::VectorXd z(dimension);
  stream.normals(0, Purpose::start, {z.data(), dimension});
  std::vector<double> chi(static_cast<std::size_t>(degrees));
  stream.normals(1, Purpose::start, chi);
  double chi2 = 0;
  for (const double c : chi) chi2 += c * c;
  z *= std::sqrt(degrees / chi2);
  Eigen::Map<Eigen::VectorXd> theta(out.data(), dimension);
  theta = mode_ + factor_.triangularView<Eigen::Upper>().solve(z);
  const double log_proposal =
      -0.5 * (degrees + static_cast<double>(dimension)) * std::log1p(z.squaredNorm() / degrees);
  return density_(std::span<const double>(out)) - log_proposal;
}

}  // namespace onward::models
