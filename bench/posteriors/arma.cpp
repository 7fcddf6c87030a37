// ARMA(1,1): y_t = mu + phi y_{t-1} + theta e_{t-1} + e_t with e ~ N(0, sigma). mu ~ N(0, 10), phi, theta ~
// N(0, 2), sigma ~ half-Cauchy(0, 5). Where |theta| > 1 errors grow with every value: steep walls.

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget arma(const Data& data) {
  return target(Parameters{}.real("mu").real("phi").real("theta").positive("sigma"),
                [y = shared(column(data, "y"))](auto mu, auto phi, auto theta, auto sigma) {
                  using T = decltype(mu);
                  T f = normal_lpdf(mu, 0.0, 10.0) + normal_lpdf(phi, 0.0, 2.0) +
                        normal_lpdf(theta, 0.0, 2.0) + cauchy_lpdf(sigma, 0.0, 5.0);
                  T error = (*y)[0] - (mu + phi * mu);
                  f += normal_lpdf(error, 0.0, sigma);
                  for (std::size_t t = 1; t < y->size(); ++t) {
                    error = (*y)[t] - (mu + phi * (*y)[t - 1] + theta * error);
                    f += normal_lpdf(error, 0.0, sigma);
                  }
                  return f;
                });
}

}  // namespace onward::posteriors
