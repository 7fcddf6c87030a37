// Earnings in dollars on height in inches: sigma is some 19,000 and starts at e^±1, where the log density is
// a hundred thousand lower and far steeper. Flat priors.

#include "bench/posteriors/linear.hpp"

namespace onward::posteriors {

AnyTarget earnings(const Data& data) {
  const Column height = column(data, "height");
  return flat_regression({Column(height.size(), 1), height}, column(data, "earn"));
}

}  // namespace onward::posteriors
