#pragma once
// The covariance of a group term's effects, by numbers that may be anything: logarithms of the standard
// deviations, and y with tanh(y) the partial correlations that make up the Cholesky factor L of the
// correlation matrix, row after row below the diagonal. Effects are S L u with u standard normal.

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/glm/group_term.hpp"

namespace onward::glm {

/// The factor L, row-major, q by q. T is a number or a jet.
template <class T>
std::vector<T> correlation_factor(std::size_t q, std::span<const T> y) {
  using std::sqrt;
  using std::tanh;
  std::vector<T> factor(q * q, T(0.0));
  std::size_t next = 0;
  for (std::size_t i = 0; i < q; ++i) {
    T left(1.0);  // of the row's length, which is 1
    for (std::size_t j = 0; j < i; ++j) {
      const T z = tanh(y[next++]);
      factor[i * q + j] = z * sqrt(left);
      left = left * (1.0 - z * z);
    }
    factor[i * q + i] = sqrt(left);
  }
  return factor;
}

/// Writes u, for which effects = S L u.
template <class T>
void standardise(std::span<const T> sds, std::span<const T> factor, std::span<const T> effects,
                 std::span<T> u) {
  const std::size_t q = sds.size();
  for (std::size_t i = 0; i < q; ++i) {
    T rest = effects[i] / sds[i];
    for (std::size_t j = 0; j < i; ++j) rest = rest - factor[i * q + j] * u[j];
    u[i] = rest / factor[i * q + i];
  }
}

/// The log of the product of the diagonal of S L.
template <class T>
T log_volume(std::span<const T> log_sds, std::span<const T> factor) {
  using std::log;
  const std::size_t q = log_sds.size();
  T sum(0.0);
  for (std::size_t i = 0; i < q; ++i) sum = sum + log_sds[i] + log(factor[i * q + i]);
  return sum;
}

/// log cosh with its derivatives, without overflow.
inline Jet log_cosh(double y) {
  const double a = std::abs(y), t = std::tanh(y);
  return {a + std::log1p(std::exp(-2 * a)) - std::log(2.0), t, 1 - t * t};
}

/// The log prior of one y, Jacobian included: the partial correlation in column j (from 0) of q has a
/// symmetric beta distribution under LKJ.
inline Jet correlation_prior(double y, std::size_t column, std::size_t q, double lkj) {
  const double a = lkj + 0.5 * static_cast<double>(q - 2 - column);
  const Jet c = log_cosh(y);
  return {-2 * a * c.value, -2 * a * c.slope, -2 * a * c.curvature};
}

}  // namespace onward::glm
