#pragma once
// Eight schools (Rubin 1981), non-centred: effects of coaching in eight schools, partly pooled.
// mu ~ N(0, 5), tau ~ half-Cauchy(0, 5), theta_j = mu + tau·z_j with z_j ~ N(0, 1), y_j ~ N(theta_j,
// sigma_j).

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "onward/target/line_view.hpp"

namespace onward::models {

/// Free parameters: z_1..z_8, mu, log tau.
struct EightSchoolsDensity {
  static constexpr std::size_t schools = 8;
  static constexpr std::array<double, schools> y{28, 8, -3, 7, -1, 1, 18, 12};
  static constexpr std::array<double, schools> sigma{15, 10, 16, 11, 9, 11, 10, 18};

  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    using std::exp;
    using std::log1p;
    const T mu = t[schools];
    const T log_tau = t[schools + 1];
    const T tau = exp(log_tau);
    T sum(0.0);
    for (std::size_t j = 0; j < schools; ++j) {
      const T residual = (y[j] - (mu + tau * t[j])) / sigma[j];
      sum += t[j] * t[j] + residual * residual;
    }
    // log tau at the end is the Jacobian of tau = exp(log tau)
    return -0.5 * sum - mu * mu / 50.0 - log1p(tau * tau / 25.0) + log_tau;
  }

  static std::vector<std::string> names() {
    std::vector<std::string> result;
    for (std::size_t j = 1; j <= schools; ++j) result.push_back("theta." + std::to_string(j));
    result.insert(result.end(), {"mu", "tau"});
    return result;
  }

  static void constrain(std::span<const double> t, std::span<double> out) {
    const double mu = t[schools], tau = std::exp(t[schools + 1]);
    for (std::size_t j = 0; j < schools; ++j) out[j] = mu + tau * t[j];
    out[schools] = mu;
    out[schools + 1] = tau;
  }
};

}  // namespace onward::models
