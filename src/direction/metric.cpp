#include "onward/direction/metric.hpp"

#include <vector>

#include <fmt/format.h>

#include "onward/util/suggest.hpp"

namespace onward {

std::string_view to_string(MetricKind kind) {
  switch (kind) {
    case MetricKind::none:
      return "none";
    case MetricKind::diag:
      return "diag";
    case MetricKind::dense:
      return "dense";
    case MetricKind::lowrank:
      return "lowrank";
  }
  return "none";
}

MetricKind metric_from_string(std::string_view name) {
  for (auto kind : {MetricKind::none, MetricKind::diag, MetricKind::dense, MetricKind::lowrank})
    if (name == to_string(kind)) return kind;
  const std::vector<std::string> names{"none", "diag", "dense", "lowrank"};
  throw UsageError(fmt::format("--metric '{}' is not known.{} It is one of: {}", name,
                               suggestion(name, names), joined(names)));
}

template <>
std::vector<double> Metric::variances() const {
  std::vector<double> result;
  for (double s : scale_) result.push_back(s * s);
  if (kind_ == MetricKind::dense)
    for (Eigen::Index i = 0; i < lower_.rows(); ++i)
      result.push_back(lower_.row(i).head(i + 1).squaredNorm());
  if (kind_ == MetricKind::lowrank) {
    // (I + U G Uᵀ)² = I + U (2G + G²) Uᵀ
    const Eigen::VectorXd more = 2 * gains_.array() + gains_.array().square();
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] *= 1 + directions_.row(static_cast<Eigen::Index>(i)).cwiseAbs2().dot(more);
  }
  return result;
}

}  // namespace onward
