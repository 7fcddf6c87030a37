#pragma once
// Priors of single coefficients, and of numbers above 0 or between 0 and 1 (then cut there: half-normal,
// half-t).

#include <algorithm>
#include <cmath>

#include "onward/target/jet.hpp"

namespace onward::glm {

struct Prior {
  enum class Kind {
    flat,
    normal,
    student_t,
    laplace,
    exponential,  ///< of numbers above 0 alone; `scale` is its mean
    gamma,        ///< likewise; `degrees` is its shape and 1 / `scale` its rate
    beta,         ///< of probabilities alone; a is `degrees` and b is `scale`
  };
  Kind kind = Kind::normal;
  double location = 0, scale = 1;
  double degrees = 3;  ///< of student_t; of gamma and beta see there

  static Prior flat() { return {Kind::flat, 0, 1, 3}; }
  static Prior normal(double location, double scale) { return {Kind::normal, location, scale, 3}; }
  static Prior student_t(double degrees, double location, double scale) {
    return {Kind::student_t, location, scale, degrees};
  }
  static Prior laplace(double location, double scale) { return {Kind::laplace, location, scale, 3}; }
  static Prior exponential(double rate) { return {Kind::exponential, 0, 1 / rate, 3}; }
  static Prior gamma(double shape, double rate) { return {Kind::gamma, 0, 1 / rate, shape}; }
  static Prior beta(double a, double b) { return {Kind::beta, 0, b, a}; }

  /// Whether its logarithm is a polynomial of second degree.
  bool is_quadratic() const { return kind == Kind::normal || kind == Kind::flat; }

  /// Whether it is of numbers above 0 alone.
  bool is_positive() const { return kind == Kind::exponential || kind == Kind::gamma || kind == Kind::beta; }

  /// Log density up to a constant that does not depend on x, and its derivatives.
  Jet at(double x) const {
    const double z = (x - location) / scale;
    switch (kind) {
      case Kind::flat:
        return {};
      case Kind::normal:
        return {-0.5 * z * z, -z / scale, -1 / (scale * scale)};
      case Kind::student_t: {
        const double m = degrees + z * z;
        return {-0.5 * (degrees + 1) * std::log1p(z * z / degrees), -(degrees + 1) * z / (m * scale),
                -(degrees + 1) * (degrees - z * z) / (m * m * scale * scale)};
      }
      case Kind::laplace:
        return {-std::abs(z), z > 0 ? -1 / scale : z < 0 ? 1 / scale : 0.0, 0};
      case Kind::exponential:
        return {-z, -1 / scale, 0};
      case Kind::gamma: {
        const double power = degrees - 1;
        if (power == 0) return {-z, -1 / scale, 0};
        return {power * std::log(x) - z, power / x - 1 / scale, -power / (x * x)};
      }
      case Kind::beta: {
        // Without the powers that are 0, which would make nothing of the logarithm of nothing.
        const double a = degrees - 1, b = scale - 1, rest = 1 - x;
        Jet jet;
        if (a != 0) jet = {a * std::log(x), a / x, -a / (x * x)};
        if (b != 0)
          jet.value += b * std::log(rest), jet.slope -= b / rest, jet.curvature -= b / (rest * rest);
        return jet;
      }
    }
    return {};
  }
  /// The curvature at x of the normal that touches the density there from below. A student-t's own curvature
  /// passes through 0, and a laplace's is 0: proposals as wide as that would be turned down for ever.
  double touching_curvature(double x) const {
    const double z = (x - location) / scale;
    if (kind == Kind::student_t) return -(degrees + 1) / ((degrees + z * z) * scale * scale);
    if (kind == Kind::laplace) return -1 / (scale * scale * std::max(std::abs(z), 0.1));
    return at(x).curvature;
  }
  /// The curvature that Newton's method and whitening count on: that of the centre, never negative.
  double precision() const {
    switch (kind) {
      case Kind::flat:
      case Kind::exponential:
      case Kind::gamma:
      case Kind::beta:
        return 0;
      case Kind::normal:
        return 1 / (scale * scale);
      case Kind::student_t:
        return (degrees + 1) / degrees / (scale * scale);
      case Kind::laplace:
        return 0.5 / (scale * scale);
    }
    return 0;
  }

  /// The log density of log s for s = e^log_s under this prior cut at 0, with derivatives by log s.
  Jet at_log(double log_s) const {
    const double s = std::exp(log_s);
    const Jet j = at(s);
    return {j.value + log_s, j.slope * s + 1, j.curvature * s * s + j.slope * s};
  }
};

}  // namespace onward::glm
