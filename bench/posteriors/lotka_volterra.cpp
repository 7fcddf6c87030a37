// lotka_volterra: hares u and lynxes v by du/dt = (a - b v) u, dv/dt = (d u - c) v, seen with lognormal noise
// each year. a, c ~ N(1, 0.5), b, d ~ N(0.05, 0.05), z_init ~ lognormal(log 10, 1), sigma ~ lognormal(-1, 1).

#include <array>

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {
namespace {

/// One step of the classical Runge-Kutta method.
template <class T>
std::array<T, 2> step(std::span<const T> theta, const std::array<T, 2>& z, double h) {
  const auto slope = [&](const T& u, const T& v) {
    return std::array<T, 2>{T((theta[0] - theta[1] * v) * u), T((theta[3] * u - theta[2]) * v)};
  };
  const auto k1 = slope(z[0], z[1]);
  const auto k2 = slope(z[0] + 0.5 * h * k1[0], z[1] + 0.5 * h * k1[1]);
  const auto k3 = slope(z[0] + 0.5 * h * k2[0], z[1] + 0.5 * h * k2[1]);
  const auto k4 = slope(z[0] + h * k3[0], z[1] + h * k3[1]);
  std::array<T, 2> next = z;
  for (std::size_t k = 0; k < 2; ++k) next[k] += h / 6 * (k1[k] + 2.0 * (k2[k] + k3[k]) + k4[k]);
  return next;
}

}  // namespace

AnyTarget lotka_volterra(const Data& data) {
  constexpr int steps_a_year = 10;
  struct Seen {
    std::vector<std::array<double, 2>> log_y;  // the first year, then the others
  } seen;
  const auto add = [&](const Data& pair) {
    seen.log_y.push_back({std::log(pair[0].get<double>()), std::log(pair[1].get<double>())});
  };
  add(data.at("y_init"));
  for (const auto& pair : data.at("y")) add(pair);
  auto parameters =
      Parameters{}.positive_vector("theta", 4).positive_vector("z_init", 2).positive_vector("sigma", 2);
  return target(parameters, [d = shared(std::move(seen))](auto theta, auto z_init, auto sigma) {
    using T = std::remove_cvref_t<decltype(theta[0])>;
    using std::log;
    T f = normal_lpdf(theta[0], 1.0, 0.5) + normal_lpdf(theta[1], 0.05, 0.05) +
          normal_lpdf(theta[2], 1.0, 0.5) + normal_lpdf(theta[3], 0.05, 0.05);
    for (std::size_t k = 0; k < 2; ++k) {
      const T log_first = log(z_init[k]), log_sigma = log(sigma[k]);
      f += normal_lpdf(log_first, std::log(10.0), 1.0) - log_first;
      f += normal_lpdf(log_sigma, -1.0, 1.0) - log_sigma;
    }
    std::array<T, 2> z{z_init[0], z_init[1]};
    for (std::size_t year = 0; year < d->log_y.size(); ++year) {
      if (year > 0)
        for (int n = 0; n < steps_a_year; ++n) z = step<T>(theta, z, 1.0 / steps_a_year);
      for (std::size_t k = 0; k < 2; ++k) f += normal_lpdf(d->log_y[year][k], log(z[k]), sigma[k]);
    }
    return f;
  });
}

}  // namespace onward::posteriors
