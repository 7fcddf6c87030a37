#pragma once
// Logistic regression on made-up data.

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
  LogisticDensity(std::size_t rows, std::size_t predictors, double correlation = 0) : rows_(rows) {
    auto data = std::make_shared<Data>();
    const Stream stream(data_seed, 0);
    std::vector<double> x(rows * predictors);
    stream.normals(0, Purpose::noise, x);
    std::vector<double> beta(predictors), uniforms(rows);
    stream.normals(1, Purpose::noise, beta);
    stream.uniforms(0, Purpose::accept, uniforms);
    data->y.resize(rows);
    for (std::size_t n = 0; n < rows; ++n) {
      double* row = &x[n * predictors];
      row[0] = 1;
      for (std::size_t j = 2; j < predictors; ++j)
        row[j] = correlation * row[j - 1] + std::sqrt(1 - correlation * correlation) * row[j];
      double eta = 0;
      for (std::size_t j = 0; j < predictors; ++j) eta += row[j] * beta[j];
      data->y[n] = uniforms[n] < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    }
    data->x = DataMatrix(std::move(x), predictors);
    data_ = std::move(data);
  }

  template <class V>
  auto operator()(const V& beta) const {
    return bernoulli_logit_lpmf(data_->y, data_->x * beta) - 0.5 * sum_of_squares(beta);
  }

  std::size_t rows() const { return rows_; }
  std::span<const double> x() const { return data_->x.numbers(); }  ///< one row after the other
  std::span<const double> y() const { return data_->y; }            ///< 0 or 1

 private:
  static constexpr std::uint64_t data_seed = 30;
  struct Data {
    DataMatrix x{{}, 1};
    std::vector<double> y;
  };
  std::size_t rows_;
  std::shared_ptr<const Data> data_;  // never changes, so chains may share it
};

/// The built-in model: an intercept and 30 predictors, 500 rows.
inline constexpr std::size_t logistic_predictors = 30;
inline LogisticDensity logistic_density() { return {500, logistic_predictors + 1, 0.8}; }

}  // namespace onward::models
