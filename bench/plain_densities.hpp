#pragma once
// Log densities as anyone would write them first: loops over numbers, without functions of whole vectors. One
// value of such a density is what benchmarks count gradients in.

#include <cmath>
#include <cstddef>
#include <span>

#include "models/eight_schools.hpp"
#include "models/logistic.hpp"
#include "models/stochastic_volatility.hpp"
#include "onward/target/line_view.hpp"

namespace onward::bench {

struct PlainFunnel {
  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    using std::exp;
    const T w = t[0];
    T squares(0.0);
    for (std::size_t i = 1; i < t.size(); ++i) squares += t[i] * t[i];
    const auto count = static_cast<double>(t.size() - 1);
    return -w * w / 18.0 + 0.5 * count * w - 0.5 * exp(w) * squares;
  }
};

/// The same, with the density of each x written out.
struct TermwiseFunnel {
  template <class V>
  auto operator()(const V& t) const {
    using std::exp;
    auto w = t[0];
    auto f = -w * w / 18.0;
    for (std::size_t i = 1; i < t.size(); ++i) f += 0.5 * w - 0.5 * exp(w) * t[i] * t[i];
    return f;
  }
};

struct PlainEightSchools {
  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    using std::exp, std::log1p;
    using Schools = models::EightSchoolsDensity;
    constexpr std::size_t schools = Schools::schools;
    const T mu = t[schools];
    const T log_tau = t[schools + 1];
    const T tau = exp(log_tau);
    T sum(0.0);
    for (std::size_t j = 0; j < schools; ++j) {
      const T residual = (Schools::y[j] - (mu + tau * t[j])) / Schools::sigma[j];
      sum += t[j] * t[j] + residual * residual;
    }
    return -0.5 * sum - mu * mu / 50.0 - log1p(tau * tau / 25.0) + log_tau;
  }
};

/// With the data of the built-in model.
class PlainLogistic {
 public:
  PlainLogistic(std::size_t rows, std::size_t predictors) : data_(rows, predictors) {}

  template <class V>
  auto operator()(const V& beta) const {
    using T = scalar_of<V>;
    T sum(0.0);
    for (std::size_t j = 0; j < beta.size(); ++j) sum -= 0.5 * (beta[j] * beta[j]);
    const double* x = data_.x().data();
    for (const double y : data_.y()) {
      T eta(0.0);
      for (std::size_t j = 0; j < beta.size(); ++j) eta += x[j] * beta[j];
      sum += y * eta - softplus(eta);
      x += beta.size();
    }
    return sum;
  }

 private:
  models::LogisticDensity data_;
};

/// Over the parameters and the data of the built-in model.
class PlainStochasticVolatility {
 public:
  explicit PlainStochasticVolatility(std::size_t steps) : data_(steps) {}

  template <class T>
  T operator()(T mu, T phi, T sigma, std::span<const T> z) const {
    using std::exp, std::log;
    using Model = models::StochasticVolatilityDensity;
    T f = mu * mu * (-0.5 / (Model::mu_sd * Model::mu_sd)) + (Model::phi_a - 1) * log(1.0 + phi) +
          (Model::phi_b - 1) * log(1.0 - phi) - sigma * sigma * (0.5 / (Model::sigma_sd * Model::sigma_sd));
    models::LogVariancePath<T> path(mu, phi, sigma);
    T sum(0.0);
    for (std::size_t t = 0; t < z.size(); ++t) {
      const T h = path.next(z[t]);
      const double y = data_.y()[t];
      sum += z[t] * z[t] + h + y * y * exp(-h);
    }
    return f - 0.5 * sum;
  }

 private:
  models::StochasticVolatilityDensity data_;
};

}  // namespace onward::bench
