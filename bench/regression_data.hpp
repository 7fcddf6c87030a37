#pragma once
// Regressions that benchmarks are made of: predictors that share a common part, coefficients of standard
// deviation 0.3 (counts: 0.1), outcomes of a family.

#include <cmath>
#include <cstddef>
#include <vector>

#include "onward/glm/family.hpp"
#include "onward/random/stream.hpp"

namespace onward::bench {

struct RegressionData {
  std::size_t rows, predictors;
  glm::Family family;
  double correlation;  ///< of any two predictors
  std::vector<double> x, y;

  RegressionData(std::size_t n, std::size_t p, glm::Family outcome = glm::Family::bernoulli,
                 double between = 0.81)
      : rows(n), predictors(p), family(outcome), correlation(between), x(n * p), y(n) {
    const Stream stream(7, 0);
    std::vector<double> shared(n), beta(p), u(n), gamma(n);
    stream.normals(0, Purpose::noise, x);
    stream.normals(1, Purpose::noise, shared);
    stream.normals(2, Purpose::noise, beta);
    stream.uniforms(3, Purpose::noise, u);
    stream.uniforms(4, Purpose::noise, gamma);
    const bool counts = family != glm::Family::bernoulli;
    for (std::size_t i = 0; i < n; ++i) {
      double eta = 0.3;
      for (std::size_t j = 0; j < p; ++j) {
        double& entry = x[i * p + j];
        entry = std::sqrt(correlation) * shared[i] + std::sqrt(1 - correlation) * entry;
        eta += (counts ? 0.1 : 0.3) * entry * beta[j];
      }
      // For phi = 1 the mean of a negative binomial is multiplied by an exponential.
      const double mean =
          std::exp(eta) * (family == glm::Family::negative_binomial ? -std::log(gamma[i]) : 1);
      y[i] = counts ? count(mean, u[i]) : u[i] < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    }
  }

 private:
  /// The count at which the Poisson distribution of that mean passes u.
  static double count(double mean, double u) {
    double probability = std::exp(-mean), sum = probability, k = 0;
    for (; sum < u && k < 1000; sum += probability *= mean / k) ++k;
    return k;
  }
};

}  // namespace onward::bench
