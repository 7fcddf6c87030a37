#pragma once
// Logistic regression on made-up data, written as anyone would write it first: a dot product and a log-odds
// term a row.

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/line_view.hpp"

namespace onward::models {

/// beta ~ N(0, 1), y_n ~ Bernoulli(inv_logit(x_n·beta)); the first column of X is 1, the others are standard
/// normal.
class LogisticDensity {
 public:
  LogisticDensity(std::size_t rows, std::size_t predictors) : rows_(rows), predictors_(predictors) {
    auto data = std::make_shared<Data>();
    const Stream stream(data_seed, 0);
    data->x.resize(rows * predictors);
    stream.normals(0, Purpose::noise, data->x);
    std::vector<double> beta(predictors), uniforms(rows);
    stream.normals(1, Purpose::noise, beta);
    stream.uniforms(0, Purpose::accept, uniforms);
    data->y.resize(rows);
    for (std::size_t n = 0; n < rows; ++n) {
      data->x[n * predictors] = 1;
      double eta = 0;
      for (std::size_t j = 0; j < predictors; ++j) eta += data->x[n * predictors + j] * beta[j];
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

 private:
  static constexpr std::uint64_t data_seed = 30;
  struct Data {
    std::vector<double> x, y;
  };
  std::size_t rows_, predictors_;
  std::shared_ptr<const Data> data_;  // never changes, so chains may share it
};

}  // namespace onward::models
