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
  throw UsageError(fmt::format("`metric` '{}' is not known.{} It is one of: {}", name,
                               suggestion(name, names), joined(names)));
}

}  // namespace onward
