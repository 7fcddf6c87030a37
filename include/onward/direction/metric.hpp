#pragma once
// The metric: what warm-up learned about the target's scales. It is a linear map L; a kernel draws its noise
// and its directions in units where the target is about as wide everywhere, and pushes them through L to the
// parameters. Since a kernel knows every move in those units before pushing it, no inverse is ever needed.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include "onward/error.hpp"
#include "onward/util/archive.hpp"

namespace onward {

enum class MetricKind { none, diag, dense, lowrank };
std::string_view to_string(MetricKind kind);
MetricKind metric_from_string(std::string_view name);  ///< throws UsageError for an unknown name

/// L = I, a diagonal S, a lower triangle, or S (I + U G Uᵀ) with few orthonormal columns U and diagonal G,
/// which widens (or narrows) the directions U after the scaling (the last two for Real = double only). Real
/// may be a SIMD batch whose lanes are chains.
template <class Real>
class BasicMetric {
 public:
  BasicMetric() = default;
  static BasicMetric diagonal(std::vector<Real> scale) {
    BasicMetric metric;
    metric.kind_ = MetricKind::diag;
    metric.scale_ = std::move(scale);
    return metric;
  }
  static BasicMetric dense(Eigen::MatrixXd lower) {
    BasicMetric metric;
    metric.kind_ = MetricKind::dense;
    metric.lower_ = std::move(lower);
    return metric;
  }

  static BasicMetric lowrank(std::vector<Real> scale, Eigen::MatrixXd directions, Eigen::VectorXd gains) {
    BasicMetric metric;
    metric.kind_ = MetricKind::lowrank;
    metric.scale_ = std::move(scale);
    metric.directions_ = std::move(directions);
    metric.gains_ = std::move(gains);
    return metric;
  }

  /// All of it, from or to an archive.
  void transfer(Archive& archive) { archive(kind_, scale_, lower_, directions_, gains_); }

  MetricKind kind() const { return kind_; }
  /// Whether an entry of what is pushed depends on others than its own.
  bool mixes() const { return kind_ == MetricKind::dense || kind_ == MetricKind::lowrank; }
  const std::vector<Real>& scale() const { return scale_; }
  const Eigen::MatrixXd& lower() const { return lower_; }
  const Eigen::MatrixXd& directions() const { return directions_; }  ///< U
  const Eigen::VectorXd& gains() const { return gains_; }            ///< the diagonal of G

  /// The diagonal of L Lᵀ; empty if L = I.
  std::vector<Real> variances() const {
    std::vector<Real> result;
    for (const Real& s : scale_) result.push_back(s * s);
    for (Eigen::Index i = 0; i < lower_.rows(); ++i)
      result.push_back(Real(lower_.row(i).head(i + 1).squaredNorm()));
    // (I + U G Uᵀ)² = I + U (2G + G²) Uᵀ
    const Eigen::VectorXd more = 2 * gains_.array() + gains_.array().square();
    for (Eigen::Index i = 0; i < directions_.rows(); ++i)
      result[static_cast<std::size_t>(i)] *= Real(1 + directions_.row(i).cwiseAbs2().dot(more));
    return result;
  }

  /// out = L in, from the kernel's units to the parameters. in and out must not overlap.
  void push(std::span<const Real> in, std::span<Real> out) const {
    switch (kind_) {
      case MetricKind::none:
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i];
        return;
      case MetricKind::diag:
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = scale_[i] * in[i];
        return;
      case MetricKind::dense:
        product<false>(in, out);
        return;
      case MetricKind::lowrank:
        widen(in, out);
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = scale_[i] * out[i];
        return;
    }
  }

  /// out = Lᵀ in: a gradient with respect to the parameters becomes one in the kernel's units.
  void pull(std::span<const Real> in, std::span<Real> out) const {
    if (kind_ == MetricKind::dense) {
      product<true>(in, out);
    } else if (kind_ == MetricKind::lowrank) {
      std::vector<Real> scaled(in.size());
      for (std::size_t i = 0; i < in.size(); ++i) scaled[i] = scale_[i] * in[i];
      widen(scaled, out);
    } else {
      push(in, out);
    }
  }

 private:
  /// out = (I + U G Uᵀ) in, which is symmetric.
  void widen(std::span<const Real> in, std::span<Real> out) const {
    if constexpr (std::is_same_v<Real, double>) {
      const auto size = static_cast<Eigen::Index>(in.size());
      const Eigen::Map<const Eigen::VectorXd> x(in.data(), size);
      Eigen::Map<Eigen::VectorXd> y(out.data(), size);
      y = x;
      y.noalias() += directions_ * gains_.cwiseProduct(directions_.transpose() * x);
    } else {
      throw Error("a low-rank metric works for one chain at a time only");
    }
  }

  template <bool transposed>
  void product(std::span<const Real> in, std::span<Real> out) const {
    if constexpr (std::is_same_v<Real, double>) {
      const auto size = static_cast<Eigen::Index>(in.size());
      const Eigen::Map<const Eigen::VectorXd> x(in.data(), size);
      Eigen::Map<Eigen::VectorXd> y(out.data(), size);
      if constexpr (transposed)
        y.noalias() = lower_.transpose().triangularView<Eigen::Upper>() * x;
      else
        y.noalias() = lower_.triangularView<Eigen::Lower>() * x;
    } else {
      throw Error("a dense metric works for one chain at a time only");
    }
  }

  MetricKind kind_ = MetricKind::none;
  std::vector<Real> scale_;
  Eigen::MatrixXd lower_, directions_;
  Eigen::VectorXd gains_;
};
using Metric = BasicMetric<double>;
inline void transfer(Archive& archive, Metric& metric) { metric.transfer(archive); }

}  // namespace onward
