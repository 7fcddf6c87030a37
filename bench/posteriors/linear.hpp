#pragma once
// A linear regression with normal errors, written row by row: y_n ~ N(x_n . beta, sigma). Priors are the
// caller's.

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "bench/posteriors/reported.hpp"

namespace onward::posteriors {

/// Columns of X, each as long as y.
struct Rows {
  std::vector<double> x;  ///< one row after the other
  Column y;
};

inline std::shared_ptr<const Rows> rows(const std::vector<Column>& columns, Column y) {
  Rows r{{}, std::move(y)};
  for (std::size_t n = 0; n < r.y.size(); ++n)
    for (const auto& c : columns) r.x.push_back(c[n]);
  return shared(std::move(r));
}

template <class T>
T normal_rows(const Rows& rows, std::span<const T> beta, const T& sigma) {
  using std::log;
  T sum(0.0);
  const double* x = rows.x.data();
  for (const double y : rows.y) {
    T mean(0.0);
    for (const auto& b : beta) mean += *x++ * b;
    const T residual = y - mean;
    sum += residual * residual;
  }
  return -0.5 * sum / (sigma * sigma) - static_cast<double>(rows.y.size()) * log(sigma);
}

/// With flat priors.
inline AnyTarget flat_regression(const std::vector<Column>& columns, Column y) {
  return target(Parameters{}.vector("beta", columns.size()).positive("sigma"),
                [data = rows(columns, std::move(y))](auto beta, auto sigma) {
                  return normal_rows(*data, beta, sigma);
                });
}

}  // namespace onward::posteriors
