// logearn_height: log earnings on height in inches, neither centred nor scaled. Flat priors.

#include "bench/posteriors/linear.hpp"

namespace onward::posteriors {

AnyTarget log_earnings(const Data& data) {
  const Column height = column(data, "height");
  Column log_earnings = column(data, "earn");
  for (double& y : log_earnings) y = std::log(y);
  return flat_regression({Column(height.size(), 1), height}, std::move(log_earnings));
}

}  // namespace onward::posteriors
