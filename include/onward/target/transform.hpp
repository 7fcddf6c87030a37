#pragma once
// Samplers move in all of R^n; models speak of scales, probabilities, simplexes. A transform carries a free
// vector u to a constrained value x and adds log|dx/du| to an accumulator, so that a density over x becomes
// one over u.
//
// Every forward map is generic over the scalar and free of branches on data, so that jets and SIMD batches go
// through it like a double. The way back is for doubles only: it serves starts given on the constrained
// scale.

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "onward/ad/functions.hpp"

namespace onward {

/// Parameter transforms. Each kind offers constrain (from the free scale, any scalar type), unconstrain (back
/// to it, doubles, throws Error naming the parameter and what is allowed) and sizes on both sides. Scalar
/// kinds map one number; the others map a span and fill another one.
namespace transform {

namespace detail {
/// log of the derivative of inv_logit at u: log s + log(1 - s) = -softplus(u) - softplus(-u), for one
/// softplus.
template <class T>
T log_inv_logit_slope(const T& u) {
  return u - 2.0 * softplus(u);
}
}  // namespace detail

/// No constraint: x = u.
struct Real {
  template <class T>
  T constrain(const T& u, T& /*log_jacobian*/) const {
    return u;
  }
  double unconstrain(double x, std::string_view name) const;
};

/// x > 0: x = exp(u), log|dx/du| = u.
struct Positive {
  template <class T>
  T constrain(const T& u, T& log_jacobian) const {
    using std::exp;
    log_jacobian += u;
    return exp(u);
  }
  double unconstrain(double x, std::string_view name) const;
};

/// x > lower: x = lower + exp(u), log|dx/du| = u.
class Lower {
 public:
  /// Throws UsageError, with the parameter's name, unless the bound is finite.
  explicit Lower(double lower, std::string_view name = "lower");
  template <class T>
  T constrain(const T& u, T& log_jacobian) const {
    using std::exp;
    log_jacobian += u;
    return lower_ + exp(u);
  }
  double unconstrain(double x, std::string_view name) const;

 private:
  double lower_;
};

/// x < upper: x = upper - exp(u), log|dx/du| = u.
class Upper {
 public:
  /// Throws UsageError, with the parameter's name, unless the bound is finite.
  explicit Upper(double upper, std::string_view name = "upper");
  template <class T>
  T constrain(const T& u, T& log_jacobian) const {
    using std::exp;
    log_jacobian += u;
    return upper_ - exp(u);
  }
  double unconstrain(double x, std::string_view name) const;

 private:
  double upper_;
};

/// lower < x < upper: x = lower + (upper - lower) s with s = inv_logit(u);
/// log|dx/du| = log(upper - lower) + log s + log(1 - s).
class Interval {
 public:
  /// Throws UsageError, with the parameter's name, unless lower < upper and both and their distance are
  /// finite.
  Interval(double lower, double upper, std::string_view name = "interval");
  template <class T>
  T constrain(const T& u, T& log_jacobian) const {
    log_jacobian += log_width_ + detail::log_inv_logit_slope(u);
    return lower_ + width_ * inv_logit(u);
  }
  double unconstrain(double x, std::string_view name) const;

 private:
  double lower_;
  double upper_;
  double width_;  ///< upper - lower, at most an ulp or two less: lower + width must not round to above upper
  double log_width_;
};

/// x_1 < x_2 < ... < x_n: x_1 = u_1, x_k = x_{k-1} + exp(u_k); log|dx/du| = u_2 + ... + u_n.
class Ordered {
 public:
  explicit Ordered(std::size_t size) : size_(size) {}
  std::size_t unconstrained_size() const { return size_; }
  std::size_t size() const { return size_; }

  template <class T>
  void constrain(std::span<const T> u, std::span<T> x, T& log_jacobian) const {
    using std::exp;
    for (std::size_t k = 0; k < size_; ++k) {
      if (k == 0) {
        x[0] = u[0];
      } else {
        x[k] = x[k - 1] + exp(u[k]);
        log_jacobian += u[k];
      }
    }
  }
  void unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const;

 private:
  std::size_t size_;
};

/// 0 < x_1 < x_2 < ... < x_n: x_1 = exp(u_1), x_k = x_{k-1} + exp(u_k); log|dx/du| = u_1 + ... + u_n.
class PositiveOrdered {
 public:
  explicit PositiveOrdered(std::size_t size) : size_(size) {}
  std::size_t unconstrained_size() const { return size_; }
  std::size_t size() const { return size_; }

  template <class T>
  void constrain(std::span<const T> u, std::span<T> x, T& log_jacobian) const {
    using std::exp;
    T last(0.0);
    for (std::size_t k = 0; k < size_; ++k) {
      last += exp(u[k]);
      x[k] = last;
      log_jacobian += u[k];
    }
  }
  void unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const;

 private:
  std::size_t size_;
};

/// x_k > 0 with sum 1, by breaking a stick: piece k takes the share z_k = inv_logit(u_k - log(n - k)) of what
/// is left, the last piece takes the rest. The shift makes u = 0 the uniform simplex. log|dx/du| = sum_k
/// [log(left_k) + log z_k + log(1 - z_k)], over the first n - 1 coordinates of x.
class Simplex {
 public:
  explicit Simplex(std::size_t size);
  std::size_t unconstrained_size() const { return shifts_.size(); }
  std::size_t size() const { return shifts_.size() + 1; }

  template <class T>
  void constrain(std::span<const T> u, std::span<T> x, T& log_jacobian) const {
    // What is left is a product of (1 - z), never one minus a sum: small pieces keep all their digits.
    T left(1.0);
    T log_left(0.0);
    for (std::size_t k = 0; k < shifts_.size(); ++k) {
      const T y = u[k] - shifts_[k];
      const T soft = softplus(y);  // -log(1 - z)
      log_jacobian += log_left + (y - 2.0 * soft);
      x[k] = left * inv_logit(y);
      left *= inv_logit(-y);
      log_left -= soft;
    }
    x[shifts_.size()] = left;
  }
  void unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const;

 private:
  std::vector<double> shifts_;  ///< log(n - k) for k = 1, ..., n - 1
};

/// The Cholesky factor L of an n x n correlation matrix: lower triangular, positive diagonal, rows of
/// length 1. The free numbers u_ij (i > j, row by row) give partial correlations z_ij = tanh(u_ij), and L_ij
/// = z_ij left_ij, left_ij = prod_{k<j} sqrt(1 - z_ik²), L_ii = left_ii. log|dL/du| = sum_{i>j} [log(1 -
/// z_ij²) + log(left_ij)], over the entries of L below the diagonal. L is stored by columns.
class CholeskyCorrelation {
 public:
  explicit CholeskyCorrelation(std::size_t rows) : rows_(rows) {}
  std::size_t unconstrained_size() const { return rows_ * (rows_ - 1) / 2; }
  std::size_t size() const { return rows_ * rows_; }
  std::size_t rows() const { return rows_; }

  template <class T>
  void constrain(std::span<const T> u, std::span<T> x, T& log_jacobian) const {
    using std::exp;
    using std::tanh;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      T left(1.0);
      T log_left(0.0);
      for (std::size_t j = 0; j < i; ++j, ++next) {
        // log sqrt(1 - tanh²u) = -log cosh u, from softplus: it neither overflows nor cancels.
        const T log_sech = (u[next] + ln2) - softplus(2.0 * u[next]);
        log_jacobian += 2.0 * log_sech + log_left;
        x[i + j * rows_] = left * tanh(u[next]);
        left *= exp(log_sech);
        log_left += log_sech;
      }
      x[i + i * rows_] = left;
      for (std::size_t j = i + 1; j < rows_; ++j) x[i + j * rows_] = T(0.0);
    }
  }
  void unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const;

 private:
  static constexpr double ln2 = 0.693147180559945309417232121458;
  std::size_t rows_;
};

}  // namespace transform
}  // namespace onward
