#pragma once
// Logistic regression on made-up data, written as anyone would write it first: a dot product and a log-odds
// term a row.

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/line_view.hpp"

namespace onward::models {

/// beta ~ N(0, 1), y_n ~ Bernoulli(inv_logit(x_n·beta)); the first column of X is 1, the others are standard
/// normal, each correlated with the one before.
class LogisticDensity {
 public:
  LogisticDensity(std::size_t rows, std::size_t predictors, double correlation = 0)
      : rows_(rows), predictors_(predictors) {
    auto data = std::make_shared<Data>();
    const Stream stream(data_seed, 0);
    data->x.resize(rows * predictors);
    stream.normals(0, Purpose::noise, data->x);
    std::vector<double> beta(predictors), uniforms(rows);
    stream.normals(1, Purpose::noise, beta);
    stream.uniforms(0, Purpose::accept, uniforms);
    data->y.resize(rows);
    for (std::size_t n = 0; n < rows; ++n) {
      double* row = &data->x[n * predictors];
      row[0] = 1;
      for (std::size_t j = 2; j < predictors; ++j)
        row[j] = correlation * row[j - 1] + std::sqrt(1 - correlation * correlation) * row[j];
      double eta = 0;
      for (std::size_t j = 0; j < predictors; ++j) eta += row[j] * beta[j];
      data->y[n] = uniforms[n] < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    }
    data_ = std::move(data);
  }

  template <class V>
  auto operator()(const V& beta) const {
    using T = scalar_of<V>;
    T sum(0.0);
    for (std::size_t j = 0; j < predictors_; ++j) sum -= 0.5 * (beta[j] * beta[j]);
    const double* x = data_->x.data();
    for (std::size_t n = 0; n < rows_; ++n, x += predictors_) {
      T eta(0.0);
      for (std::size_t j = 0; j < predictors_; ++j) eta += x[j] * beta[j];
      sum += data_->y[n] * eta - softplus(eta);
    }
    return sum;
  }

  std::size_t rows() const { return rows_; }
  std::span<const double> x() const { return data_->x; }  ///< one row after the other
  std::span<const double> y() const { return data_->y; }  ///< 0 or 1

 private:
  static constexpr std::uint64_t data_seed = 30;
  struct Data {
    std::vector<double> x, y;
  };
  std::size_t rows_, predictors_;
  std::shared_ptr<const Data> data_;  // never changes, so chains may share it
};

/// The built-in model: an intercept and 30 predictors, 500 rows.
inline constexpr std::size_t logistic_predictors = 30;
inline LogisticDensity logistic_density() { return {500, logistic_predictors + 1, 0.8}; }

}  // namespace onward::models
