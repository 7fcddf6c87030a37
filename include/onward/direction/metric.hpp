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

namespace onward {

enum class MetricKind { none, diag, dense };
std::string_view to_string(MetricKind kind);
MetricKind metric_from_string(std::string_view name);  ///< throws UsageError for an unknown name

/// L = I, a diagonal, or a lower triangle (Real = double only). Real may be a SIMD batch whose lanes are
/// chains.
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

  MetricKind kind() const { return kind_; }
  const std::vector<Real>& scale() const { return scale_; }
  const Eigen::MatrixXd& lower() const { return lower_; }

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
    }
  }

  /// out = Lᵀ in: a gradient with respect to the parameters becomes one in the kernel's units.
  void pull(std::span<const Real> in, std::span<Real> out) const {
    if (kind_ == MetricKind::dense)
      product<true>(in, out);
    else
      push(in, out);
  }

 private:
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
  Eigen::MatrixXd lower_;
};
using Metric = BasicMetric<double>;

}  // namespace onward
