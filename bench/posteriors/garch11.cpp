// garch11: the variance of a value is alpha0 + alpha1 (last residual)² + beta1 (last variance); alpha1 +
// beta1 < 1. Flat priors.

#include "bench/posteriors/reported.hpp"

namespace onward::posteriors {

AnyTarget garch11(const Data& data) {
  auto parameters =
      Parameters{}.real("mu").positive("alpha0").interval("alpha1", 0, 1).interval("share", 0, 1);
  auto density = target(parameters, [y = shared(column(data, "y")), first = data.at("sigma1").get<double>()](
                                        auto mu, auto alpha0, auto alpha1, auto share) {
    using T = decltype(mu);
    using std::log;
    const T room = 1.0 - alpha1, beta1 = room * share;
    T f = log(room), variance(first * first), residual = (*y)[0] - mu;
    for (std::size_t t = 0; t < y->size(); ++t) {
      if (t > 0) {
        variance = alpha0 + alpha1 * (residual * residual) + beta1 * variance;
        residual = (*y)[t] - mu;
      }
      f -= 0.5 * (residual * residual / variance + log(variance));
    }
    return f;
  });
  return Reported(std::move(density), {"mu", "alpha0", "alpha1", "beta1"}, [](auto declared, auto out) {
    for (std::size_t i = 0; i < 3; ++i) out[i] = declared[i];
    out[3] = (1 - declared[2]) * declared[3];
  });
}

}  // namespace onward::posteriors
