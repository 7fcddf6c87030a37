#pragma once
// Learns scales from the places a chain visits: running mean and (co)variance by Welford's update, shrunk
// towards a small multiple of the identity in proportion to how little was seen (as Stan does).

#include <span>

#include <Eigen/Core>

#include "onward/direction/metric.hpp"

namespace onward {

class CovarianceLearner {
 public:
  CovarianceLearner(MetricKind kind, std::size_t dimension);
  void add(std::span<const double> position);
  void clear();
  std::size_t count() const { return count_; }
  /// The metric learned so far.
  Metric metric() const;

 private:
  MetricKind kind_;
  std::size_t count_ = 0;
  Eigen::VectorXd mean_, before_, after_;
  Eigen::VectorXd squares_;   // diag: Σ (x - mean)²
  Eigen::MatrixXd products_;  // dense: Σ (x - mean)(x - mean)ᵀ, lower triangle
};

}  // namespace onward
