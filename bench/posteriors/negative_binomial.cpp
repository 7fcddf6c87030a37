// A negative binomial regression of five rows: log mean = intercept + slope x. intercept ~ student_t(3,
// 0, 2.5), slope ~ N(0, 2.5), shape ~ gamma(0.01, 0.01). The shape's tails are long in both directions.

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget negative_binomial(const Data& data) {
  return target(Parameters{}.real("intercept").real("slope").positive("shape"),
                [x = column(data, "x"), y = column(data, "y")](auto intercept, auto slope, auto shape) {
                  using T = decltype(shape);
                  using std::lgamma, std::log;
                  T f = student_t_lpdf(intercept, 3.0, 0.0, 2.5) + normal_lpdf(slope, 0.0, 2.5) +
                        gamma_lpdf(shape, 0.01, 0.01);
                  const T log_shape = log(shape);
                  for (std::size_t n = 0; n < x.size(); ++n) {
                    const T eta = intercept + slope * x[n];
                    const T log_sum = log_sum_exp(log_shape, eta);  // of shape + mean
                    f += lgamma(y[n] + shape) - lgamma(shape) + shape * (log_shape - log_sum) +
                         y[n] * (eta - log_sum);
                  }
                  return f;
                });
}

}  // namespace onward::posteriors
