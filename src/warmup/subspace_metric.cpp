#include "subspace_metric.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

namespace onward {
namespace {

/// V f(λ) Vᵀ of a symmetric matrix.
template <class F>
Eigen::MatrixXd matrix_function(const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>& solver, const F& f) {
  const Eigen::VectorXd values = solver.eigenvalues().unaryExpr(f);
  return solver.eigenvectors() * values.asDiagonal() * solver.eigenvectors().transpose();
}

/// Covariance of n columns that were centred, with one more observation of the identity: directions that were
/// hardly seen keep a width near 1.
Eigen::MatrixXd shrunk(const Eigen::MatrixXd& columns) {
  constexpr double weight = 1;
  Eigen::MatrixXd result = columns * columns.transpose();
  result.diagonal().array() += weight;
  return result / (static_cast<double>(columns.cols() - 1) + weight);
}

}  // namespace

Eigen::MatrixXd geometric_mean(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> of_b(b);
  const double least = of_b.eigenvalues().maxCoeff() * 1e-14;  // below it an eigenvalue is rounding
  const auto root = [least](double x) { return std::sqrt(std::max(x, least)); };
  const Eigen::MatrixXd half = matrix_function(of_b, root);
  const Eigen::MatrixXd back = matrix_function(of_b, [&](double x) { return 1 / root(x); });
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> of_product(half * a.selfadjointView<Eigen::Lower>() *
                                                                  half);
  const Eigen::MatrixXd middle =
      matrix_function(of_product, [](double x) { return std::sqrt(std::max(x, 0.0)); });
  return back * middle * back;
}

Metric subspace_metric(std::vector<double> scale, const Eigen::MatrixXd& places,
                       const Eigen::MatrixXd& gradients) {
  // What is less than a quarter wider or narrower than 1 is not worth its product in every step.
  constexpr double worth = 0.25;
  constexpr Eigen::Index most_directions = 100;
  const Eigen::Index size = places.rows(), count = places.cols();

  Eigen::MatrixXd basis;  // of all columns; of the whole space if they are more
  if (2 * count < size) {
    Eigen::MatrixXd all(size, 2 * count);
    all << places, gradients;
    basis = Eigen::HouseholderQR<Eigen::MatrixXd>(all).householderQ() *
            Eigen::MatrixXd::Identity(size, 2 * count);
  }
  const bool whole = basis.size() == 0;
  const Eigen::MatrixXd a = shrunk(whole ? places : Eigen::MatrixXd(basis.transpose() * places));
  const Eigen::MatrixXd b = shrunk(whole ? gradients : Eigen::MatrixXd(basis.transpose() * gradients));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(geometric_mean(a, b));
  if (solver.info() != Eigen::Success || !solver.eigenvalues().allFinite())
    return Metric::diagonal(std::move(scale));

  std::vector<Eigen::Index> order(static_cast<std::size_t>(solver.eigenvalues().size()));
  std::iota(order.begin(), order.end(), 0);
  const auto away = [&](Eigen::Index k) {
    return std::abs(std::log(std::max(solver.eigenvalues()[k], 1e-300))) / 2;
  };
  std::ranges::stable_sort(order, std::greater{}, away);
  std::erase_if(order, [&](Eigen::Index k) { return away(k) < std::log(1 + worth); });
  const Eigen::Index taken = std::min(most_directions, static_cast<Eigen::Index>(order.size()));
  if (taken == 0) return Metric::diagonal(std::move(scale));
  Eigen::MatrixXd directions(solver.eigenvectors().rows(), taken);
  Eigen::VectorXd gains(taken);
  for (Eigen::Index k = 0; k < taken; ++k) {
    directions.col(k) = solver.eigenvectors().col(order[static_cast<std::size_t>(k)]);
    gains[k] = std::sqrt(std::max(solver.eigenvalues()[order[static_cast<std::size_t>(k)]], 1e-12)) - 1;
  }
  if (!whole) directions = (basis * directions).eval();
  return Metric::lowrank(std::move(scale), std::move(directions), std::move(gains));
}

}  // namespace onward
