// low_dim_gauss_mix: two normals with means in rising order. mu, sigma ~ N(0, 2), theta ~ beta(5, 5).

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget low_dim_gauss_mix(const Data& data) {
  auto parameters = Parameters{}.ordered("mu", 2).positive_vector("sigma", 2).interval("theta", 0, 1);
  return target(parameters, [y = shared(column(data, "y"))](auto mu, auto sigma, auto theta) {
    using T = decltype(theta);
    using std::log;
    const T first = log(theta), second = log1m(theta);
    T f = 4.0 * (first + second);
    for (std::size_t k = 0; k < 2; ++k) f += normal_lpdf(mu[k], 0.0, 2.0) + normal_lpdf(sigma[k], 0.0, 2.0);
    for (const double v : *y)
      f += log_sum_exp(T(first + normal_lpdf(v, mu[0], sigma[0])),
                       T(second + normal_lpdf(v, mu[1], sigma[1])));
    return f;
  });
}

}  // namespace onward::posteriors
