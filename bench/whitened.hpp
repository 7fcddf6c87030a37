#pragma once
// A target in the units of a given metric: u stands for θ = L u. A kernel that runs on it without a metric of
// its own moves as it would on the target itself with the metric L. So every sampler can be given the same
// metric.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "onward/target/target.hpp"

namespace onward::bench {

/// L: a lower triangle, or a diagonal where `lower` is empty.
struct Scales {
  Eigen::MatrixXd lower;
  Eigen::VectorXd diagonal;

  void push(VectorView u, std::span<double> theta) const {
    const auto x = map(u);
    if (lower.size() > 0)
      map(theta).noalias() = lower.triangularView<Eigen::Lower>() * x;
    else
      map(theta) = diagonal.cwiseProduct(x);
  }
  /// Lᵀ g
  void pull(VectorView g, std::span<double> out) const {
    const auto x = map(g);
    if (lower.size() > 0)
      map(out).noalias() = lower.transpose().triangularView<Eigen::Upper>() * x;
    else
      map(out) = diagonal.cwiseProduct(x);
  }
  /// L⁻¹ θ
  std::vector<double> whiten(VectorView theta) const {
    std::vector<double> u(theta.begin(), theta.end());
    if (lower.size() > 0)
      lower.triangularView<Eigen::Lower>().solveInPlace(map(std::span<double>(u)));
    else
      map(std::span<double>(u)) = map(theta).cwiseQuotient(diagonal);
    return u;
  }

 private:
  static Eigen::Map<const Eigen::VectorXd> map(VectorView x) {
    return {x.data(), static_cast<Eigen::Index>(x.size())};
  }
  static Eigen::Map<Eigen::VectorXd> map(std::span<double> x) {
    return {x.data(), static_cast<Eigen::Index>(x.size())};
  }
};

class Whitened {
 public:
  Whitened(AnyTarget target, std::shared_ptr<const Scales> scales)
      : target_(std::move(target)),
        scales_(std::move(scales)),
        theta_(target_.dimension()),
        v_(target_.dimension()),
        w_(target_.dimension()) {}

  std::size_t dimension() const { return target_.dimension(); }
  std::vector<std::string> names() const { return target_.names(); }

  Jet jet(VectorView u, VectorView v, Order order) {
    scales_->push(u, theta_);
    if (order != Order::value) scales_->push(v, v_);
    return target_.jet(theta_, v_, order);
  }
  JetPair jet_pair(VectorView u, VectorView v, VectorView w, Order order) {
    scales_->push(u, theta_);
    scales_->push(v, v_);
    scales_->push(w, w_);
    return target_.jet_pair(theta_, v_, w_, order);
  }
  double gradient(VectorView u, std::span<double> out) {
    scales_->push(u, theta_);
    const double value = target_.gradient(theta_, v_);
    scales_->pull(v_, out);
    return value;
  }
  void constrain(VectorView u, std::span<double> out) const {
    std::vector<double> theta(u.size());
    scales_->push(u, theta);
    target_.constrain(theta, out);
  }

 private:
  AnyTarget target_;
  std::shared_ptr<const Scales> scales_;  // never changes, so chains may share it
  std::vector<double> theta_, v_, w_;
};

}  // namespace onward::bench
