#pragma once
// A normal distribution of any dimension and condition number, turned so that all its parameters are
// correlated. The rotation is a product of a few reflections, so that an evaluation costs a few multiples of
// D, not D².

#include <cmath>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "onward/random/stream.hpp"
#include "onward/target/line_view.hpp"

namespace onward::models {

/// log density -½ Σ (Hx)ᵢ² / λᵢ with variances λ from 1 down to 1/condition, evenly spaced in log, and H a
/// product of Householder reflections along fixed random directions. Condition 1 is the standard normal.
class GaussianDensity {
 public:
  GaussianDensity(std::size_t dimension, double condition) : dimension_(dimension) {
    auto shape = std::make_shared<Shape>();
    shape->precision.resize(dimension, 1.0);
    for (std::size_t i = 1; i < dimension; ++i)
      shape->precision[i] = std::pow(condition, static_cast<double>(i) / static_cast<double>(dimension - 1));
    if (condition != 1 && dimension > 1) {
      const Stream stream(shape_seed, 0);
      for (std::size_t k = 0; k < reflections; ++k) {
        std::vector<double> v(dimension);
        stream.direction(k, Purpose::direction, v);
        shape->directions.push_back(std::move(v));
      }
    }
    shape_ = std::move(shape);
  }

  template <class V>
  auto operator()(const V& x) const {
    using T = scalar_of<V>;
    const std::vector<double>& precision = shape_->precision;
    T sum(0.0);
    if (shape_->directions.empty()) {
      for (std::size_t i = 0; i < x.size(); ++i) sum += precision[i] * (x[i] * x[i]);
      return -0.5 * sum;
    }
    thread_local std::vector<T> y;
    y.assign(x.begin(), x.end());
    for (const auto& v : shape_->directions) reflect(v, y);
    for (std::size_t i = 0; i < y.size(); ++i) sum += precision[i] * (y[i] * y[i]);
    return -0.5 * sum;
  }

  /// Turns a vector of standard normals into a draw.
  void draw(std::vector<double>& z) const {
    for (std::size_t i = 0; i < dimension_; ++i) z[i] /= std::sqrt(shape_->precision[i]);
    for (auto v = shape_->directions.rbegin(); v != shape_->directions.rend(); ++v) reflect(*v, z);
  }

  /// The diagonal of the covariance.
  std::vector<double> variances() const {
    std::vector<double> result(dimension_), e(dimension_);
    for (std::size_t i = 0; i < dimension_; ++i) {
      std::fill(e.begin(), e.end(), 0.0);
      e[i] = 1;
      for (const auto& v : shape_->directions) reflect(v, e);
      for (std::size_t j = 0; j < dimension_; ++j) result[i] += e[j] * e[j] / shape_->precision[j];
    }
    return result;
  }

 private:
  static constexpr std::uint64_t shape_seed = 20250518;
  static constexpr std::size_t reflections = 8;
  struct Shape {
    std::vector<double> precision;
    std::vector<std::vector<double>> directions;
  };

  template <class T>
  static void reflect(const std::vector<double>& v, std::vector<T>& y) {
    const T projection = 2.0 * dot(v, y);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] -= v[i] * projection;
  }

  std::size_t dimension_;
  std::shared_ptr<const Shape> shape_;  // never changes, so chains may share it
};

}  // namespace onward::models
