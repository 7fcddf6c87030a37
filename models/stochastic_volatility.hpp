#pragma once
// Stochastic volatility on made-up returns: the logarithm h of their variance follows an autoregression that
// is not observed. mu ~ N(0, 5), (phi + 1)/2 ~ beta(20, 1.5), sigma ~ half-normal(0, 1),
// h_1 ~ N(mu, sigma/√(1 - phi²)), h_t ~ N(mu + phi (h_{t-1} - mu), sigma), y_t ~ N(0, exp(h_t/2)).
//
// Sampled non-centred: what moves is the innovations z of h, standard normal a priori, since a return says
// little of its variance and h is held by mu, phi and sigma more than by the data.

#include <cmath>
#include <cstddef>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onward/random/stream.hpp"
#include "onward/target/callable.hpp"

namespace onward::models {

/// h_1, h_2, ... from the innovations, one at a time.
template <class T>
class LogVariancePath {
 public:
  LogVariancePath(T mu, T phi, T sigma) : mu_(mu), phi_(phi), sigma_(sigma) {}

  T next(const T& z) {
    using std::sqrt;
    distance_ = first_ ? T(sigma_ / sqrt(1.0 - phi_ * phi_) * z) : T(phi_ * distance_ + sigma_ * z);
    first_ = false;
    return mu_ + distance_;
  }

 private:
  T mu_, phi_, sigma_, distance_{};
  bool first_ = true;
};

/// The log density over mu, phi, sigma and z, up to a constant.
class StochasticVolatilityDensity {
 public:
  static constexpr double mu_sd = 5, phi_a = 20, phi_b = 1.5, sigma_sd = 1;

  explicit StochasticVolatilityDensity(std::size_t steps) {
    const Stream stream(data_seed, 0);
    std::vector<double> z(steps), noise(steps);
    stream.normals(0, Purpose::noise, z);
    stream.normals(1, Purpose::noise, noise);
    LogVariancePath<double> path(-1, 0.95, 0.3);
    for (std::size_t t = 0; t < steps; ++t) noise[t] *= std::exp(path.next(z[t]) / 2);
    y_ = std::make_shared<const std::vector<double>>(std::move(noise));
  }

  std::span<const double> y() const { return *y_; }

  template <class T>
  T operator()(T mu, T phi, T sigma, std::span<const T> z) const {
    using std::log;
    T f = mu * mu * (-0.5 / (mu_sd * mu_sd)) + (phi_a - 1) * log(1.0 + phi) + (phi_b - 1) * log(1.0 - phi) -
          sigma * sigma * (0.5 / (sigma_sd * sigma_sd));
    LogVariancePath<T> path(mu, phi, sigma);
    thread_local std::vector<T> h;
    h.resize(z.size());
    for (std::size_t t = 0; t < z.size(); ++t) h[t] = path.next(z[t]);
    const double constant = 0.5 * std::log(2 * std::numbers::pi) * static_cast<double>(z.size());
    return f + normal_log_variance_lpdf(*y_, h) - 0.5 * sum_of_squares(z) + constant;
  }

 private:
  static constexpr std::uint64_t data_seed = 200;
  std::shared_ptr<const std::vector<double>> y_;  // never changes, so chains may share it
};

inline auto stochastic_volatility_parameters(std::size_t steps) {
  return Parameters{}.real("mu").interval("phi", -1, 1).positive("sigma").vector("z", steps);
}

/// Reports h in place of z.
class StochasticVolatilityTarget
    : public ParametrisedTarget<decltype(stochastic_volatility_parameters(1)), StochasticVolatilityDensity> {
 public:
  explicit StochasticVolatilityTarget(std::size_t steps)
      : ParametrisedTarget(stochastic_volatility_parameters(steps), StochasticVolatilityDensity(steps)) {}

  std::vector<std::string> names() const {
    std::vector<std::string> result{"mu", "phi", "sigma"};
    for (std::size_t t = 1; t + 3 <= dimension(); ++t) result.push_back("h." + std::to_string(t));
    return result;
  }

  void constrain(VectorView theta, std::span<double> out) const {
    ParametrisedTarget::constrain(theta, out);
    LogVariancePath<double> path(out[0], out[1], out[2]);
    for (std::size_t i = 3; i < out.size(); ++i) out[i] = path.next(theta[i]);
  }
};

/// Of the built-in model.
inline constexpr std::size_t stochastic_volatility_steps = 200;

}  // namespace onward::models
