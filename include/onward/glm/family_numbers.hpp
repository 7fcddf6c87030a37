#pragma once
// The numbers that a family has besides the predictor: sigma, phi, a shape, degrees of freedom, the gaps
// between thresholds. Rows read them as numbers above 0, and their logarithms are what is sampled. Most are
// reported as rows read them; the others say here what is reported in their place.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "onward/glm/prior.hpp"
#include "onward/target/jet.hpp"

namespace onward::glm {

/// One of them: what it is called, and how it is reported.
struct NumberInfo {
  enum class Kind {
    positive,   ///< as it is
    above_one,  ///< plus 1
    odds,       ///< as the probability that these odds belong to
    gap,        ///< as the difference of two thresholds, which are what is reported
  };
  std::string name;
  Kind kind = Kind::positive;

  /// What is reported for a number x that rows read, and the other way round.
  double reported(double x) const {
    if (kind == Kind::odds) return x / (1 + x);
    return kind == Kind::above_one ? 1 + x : x;
  }
  double from_reported(double y) const {
    if (kind == Kind::odds) return y / (1 - y);
    return kind == Kind::above_one ? y - 1 : y;
  }
  /// Whether there is such a number, as it is reported.
  bool allows(double y) const {
    const double x = from_reported(y);
    return std::isfinite(y) && std::isfinite(x) && x > 0;
  }
  /// The range of what is reported, in words.
  std::string range() const {
    if (kind == Kind::odds) return "between 0 and 1";
    return kind == Kind::above_one ? "above 1" : "above 0";
  }
  /// The log density of the logarithm of x, where `prior` is of what is reported, cut at its range.
  Jet prior_at(const Prior& prior, double log_x) const {
    if (kind == Kind::positive || kind == Kind::gap) return prior.at_log(log_x);
    const double x = std::exp(log_x);
    if (kind == Kind::above_one) {
      const Jet j = prior.at(1 + x);
      return {j.value + log_x, j.slope * x + 1, j.curvature * x * x + j.slope * x};
    }
    const double p = 1 / (1 + std::exp(-log_x)), rest = 1 / (1 + x), slope = p * rest;
    const Jet j = prior.at(p);
    return {j.value + std::log(p) + std::log(rest), j.slope * slope + rest - p,
            j.curvature * slope * slope + (j.slope * (rest - p) - 2) * slope};
  }
};

/// All of a family's at one place.
class FamilyNumbers {
 public:
  FamilyNumbers() = default;
  /// From their logarithms.
  explicit FamilyNumbers(std::vector<double> logs) : logs_(std::move(logs)) {
    for (const double log : logs_) values_.push_back(std::exp(log));
  }
  static FamilyNumbers of(std::span<const double> values) {
    FamilyNumbers numbers;
    numbers.values_.assign(values.begin(), values.end());
    for (const double value : values) numbers.logs_.push_back(std::log(value));
    return numbers;
  }

  std::size_t size() const { return logs_.size(); }
  double log(std::size_t i) const { return logs_[i]; }
  const std::vector<double>& logs() const { return logs_; }
  const std::vector<double>& values() const { return values_; }
  void set_log(std::size_t i, double log) {
    logs_[i] = log;
    values_[i] = std::exp(log);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): rows take them as they are
  operator std::span<const double>() const { return values_; }

 private:
  std::vector<double> logs_, values_;
};

}  // namespace onward::glm
