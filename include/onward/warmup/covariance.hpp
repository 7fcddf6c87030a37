#pragma once
// Learns scales from the places a chain visits and the gradients there. With both, the metric is the one
// under which draws and gradients spread alike: Σ with Σ Cov(g) Σ = Cov(x). For a normal target that is its
// covariance exactly, as soon as there are more places than dimensions, however slowly the chain moves among
// them; the covariance of the places alone would first have to see the whole of the target. Without gradients
// it is that covariance, shrunk towards a small multiple of the identity in proportion to how little was seen
// (as Stan does). The low-rank metric keeps places themselves, at most so many, and finds the few directions
// in which they spread more than chance would have it; with gradients also those in which they spread less.
// The dense one does the same while there are too few places for a matrix.

#include <span>
#include <vector>

#include <Eigen/Core>

#include "onward/direction/metric.hpp"
#include "onward/util/archive.hpp"

namespace onward {

class CovarianceLearner {
 public:
  CovarianceLearner(MetricKind kind, std::size_t dimension);
  /// A place and the gradient there; an empty one, or one that is not finite, is left out.
  void add(std::span<const double> position, std::span<const double> gradient = {});
  void clear();
  std::size_t count() const { return places_.count; }
  /// The metric learned so far.
  Metric metric() const;
  /// The logarithm of the volume that the places take up, from their scales alone.
  double log_volume() const;

  void transfer(Archive& archive);

  /// That are kept for a low-rank metric: at most 2 kB a parameter, fewer where there are very many.
  static constexpr std::size_t most_places(std::size_t dimension) {
    return dimension < 16'384 ? 256 : dimension < 65'536 ? 64 : 32;
  }

 private:
  /// Mean and spread by Welford's update.
  struct Moments {
    std::size_t count = 0;
    Eigen::VectorXd mean, difference;
    Eigen::VectorXd squares;   // Σ (x - mean)²
    Eigen::MatrixXd products;  // dense: Σ (x - mean)(x - mean)ᵀ, lower triangle
    void reset(Eigen::Index size, bool dense);
    void add(const Eigen::Ref<const Eigen::VectorXd>& x);
  };
  bool with_gradients() const { return gradients_.count == places_.count; }
  Metric dense() const;
  Metric lowrank() const;
  Metric subspace() const;
  std::vector<double> scales() const;

  MetricKind kind_;
  Moments places_, gradients_;
  std::vector<Eigen::VectorXd> kept_, kept_gradients_;  // of every stride_th place
  std::size_t stride_ = 1;
};

}  // namespace onward
