#pragma once
// What the effects of one level are proposed from, all columns of a term at once.

#include <cmath>
#include <span>
#include <vector>

#include "newton_rule.hpp"

namespace onward::glm {

/// Widths that the mean of a proposal in so many dimensions may be away: a usual place is sqrt(q) from the
/// top.
inline double longest_mean(const Rule& rule, std::size_t dimensions) {
  return rule.longest + 2 * std::sqrt(static_cast<double>(dimensions - 1));
}

/// The normal that a level proposes from, in q dimensions: by Newton's rule, with A = C C^T its precision
/// before it is relaxed.
class LevelProposal {
 public:
  /// `sums` are those of GroupRows for the level; `precision` is that of its effects' prior.
  void set(std::size_t q, const double* sums, const double* effects, std::span<const double> precision,
           const Rule& rule) {
    q_ = q;
    spread_ = std::sqrt(rule.relaxation * (2 - rule.relaxation));
    factor_.resize(q * q);
    mean_.resize(q);
    const double* hessian = sums + 1 + q;
    for (std::size_t i = 0; i < q; ++i) {
      double slope = sums[1 + i];
      for (std::size_t k = 0; k < q; ++k) slope -= precision[i * q + k] * effects[k];
      mean_[i] = slope;
      for (std::size_t k = 0; k <= i; ++k) factor_[i * q + k] = *hessian++ + precision[i * q + k];
    }
    log_volume_ = 0;
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        double rest = factor_[i * q + k];
        for (std::size_t m = 0; m < k; ++m) rest -= factor_[i * q + m] * factor_[k * q + m];
        if (i == k) {
          factor_[i * q + i] = std::sqrt(rest);
          log_volume_ += std::log(factor_[i * q + i]);
        } else {
          factor_[i * q + k] = rest / factor_[k * q + k];
        }
      }
    // c A^-1 slope, no longer than the rule allows.
    double squares = 0;
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t k = 0; k < i; ++k) mean_[i] -= factor_[i * q + k] * mean_[k];
      mean_[i] /= factor_[i * q + i];
      squares += mean_[i] * mean_[i];
    }
    const double length = std::sqrt(squares);
    const double most = longest_mean(rule, q);
    const double shorter = length > most ? most / length : 1.0;
    for (double& m : mean_) m *= rule.relaxation * shorter;
    solve_transposed(mean_.data());
  }
  /// From standard normal numbers to a step, in their place.
  void step(double* z) const {
    for (std::size_t i = 0; i < q_; ++i) z[i] *= spread_;
    solve_transposed(z);
    for (std::size_t i = 0; i < q_; ++i) z[i] += mean_[i];
  }
  /// The log density of a step, up to a constant.
  double log_density(const float* step, double sign) const {
    double squares = 0;
    for (std::size_t i = 0; i < q_; ++i) {  // C^T (step - mean) / spread
      double z = 0;
      for (std::size_t k = i; k < q_; ++k)
        z += factor_[k * q_ + i] * (sign * static_cast<double>(step[k]) - mean_[k]);
      squares += z * z;
    }
    return -0.5 * squares / (spread_ * spread_) + log_volume_;
  }

 private:
  void solve_transposed(double* x) const {
    for (std::size_t i = q_; i-- > 0;) {
      for (std::size_t k = i + 1; k < q_; ++k) x[i] -= factor_[k * q_ + i] * x[k];
      x[i] /= factor_[i * q_ + i];
    }
  }
  std::size_t q_ = 0;
  double spread_ = 1, log_volume_ = 0;
  std::vector<double> factor_, mean_;
};

/// b^T P b
inline double quadratic(std::span<const double> precision, const double* b, std::size_t q) {
  double sum = 0;
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t k = 0; k < q; ++k) sum += b[i] * precision[i * q + k] * b[k];
  return sum;
}

}  // namespace onward::glm
