// logmesquite: the weight of mesquite bushes from six measures, in logarithms. Flat priors.

#include "bench/posteriors/linear.hpp"

namespace onward::posteriors {

AnyTarget logmesquite(const Data& data) {
  const auto log_of = [&](const char* name) {
    Column c = column(data, name);
    for (double& x : c) x = std::log(x);
    return c;
  };
  const Column group = column(data, "group");
  return flat_regression({Column(group.size(), 1), log_of("diam1"), log_of("diam2"), log_of("canopy_height"),
                          log_of("total_height"), log_of("density"), group},
                         log_of("weight"));
}

}  // namespace onward::posteriors
