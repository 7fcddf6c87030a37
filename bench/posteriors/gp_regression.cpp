// gp_regr: y ~ N(0, K + sigma I) with K(x, x') = alpha² exp(-(x - x')² / (2 rho²)); rho ~ gamma(25, 4),
// alpha ~ half-normal(0, 2), sigma ~ half-normal(0, 1).

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget gp_regression(const Data& data) {
  return target(
      Parameters{}.positive("rho").positive("alpha").positive("sigma"),
      [x = shared(column(data, "x")), y = shared(column(data, "y"))](auto rho, auto alpha, auto sigma) {
        using T = decltype(rho);
        using std::exp, std::log, std::sqrt;
        const std::size_t size = x->size();
        // L L' = K + sigma I and z = L⁻¹ y, a row at a time.
        std::vector<T> l(size * size), z(size);
        T f = gamma_lpdf(rho, 25.0, 4.0) + normal_lpdf(alpha, 0.0, 2.0) + normal_lpdf(sigma, 0.0, 1.0);
        const T height = alpha * alpha, narrow = -0.5 / (rho * rho);
        for (std::size_t i = 0; i < size; ++i) {
          T left = (*y)[i] - T(0.0);
          for (std::size_t j = 0; j <= i; ++j) {
            const double distance = (*x)[i] - (*x)[j];
            T sum = height * exp(narrow * (distance * distance));
            if (i == j) sum += sigma;
            for (std::size_t k = 0; k < j; ++k) sum -= l[i * size + k] * l[j * size + k];
            if (j < i) {
              l[i * size + j] = sum / l[j * size + j];
              left -= l[i * size + j] * z[j];
            } else {
              l[i * size + i] = sqrt(sum);
            }
          }
          z[i] = left / l[i * size + i];
          f -= 0.5 * (z[i] * z[i]) + log(l[i * size + i]);
        }
        return f;
      });
}

}  // namespace onward::posteriors
