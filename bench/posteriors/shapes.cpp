// Two densities of one number that are simple to look at, and on which chains were wrong without a warning.

#include "bench/posteriors/models.hpp"
#include "onward/target/callable.hpp"

namespace onward::posteriors {

AnyTarget smooth_box() {
  return target(1, [](const auto& t) {
    return log_inv_logit(50.0 * (t[0] + 1.0)) + log_inv_logit(50.0 * (1.0 - t[0]));
  });
}

AnyTarget mixture_widths() {
  return target(1, [](const auto& t) {
    const auto square = -0.5 * (t[0] * t[0]);
    return log_sum_exp(square, square * 1e4 + std::log(100.0));
  });
}

}  // namespace onward::posteriors
