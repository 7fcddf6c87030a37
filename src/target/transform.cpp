// The way back of each transform, with the checks that a start given by a user needs.

#include "onward/target/transform.hpp"

#include <fmt/format.h>

#include <string>

#include "onward/error.hpp"

namespace onward::transform {

namespace {

/// How far a simplex's sum or a row's length may be from 1: starts are often typed or read from text.
constexpr double unit_tolerance = 1e-6;

[[noreturn]] void refuse(std::string_view name, double value, std::string_view allowed) {
  throw Error(fmt::format("{} = {}: must be {}", name, value, allowed));
}

void require_finite(double bound, std::string_view which, std::string_view name) {
  if (!std::isfinite(bound)) {
    throw UsageError(fmt::format("{}: {} bound {} is not a finite number; choose a kind without that bound",
                                 name, which, bound));
  }
}

std::string element(std::string_view name, std::size_t k) { return fmt::format("{}.{}", name, k + 1); }

std::string element(std::string_view name, std::size_t i, std::size_t j) {
  return fmt::format("{}.{}.{}", name, i + 1, j + 1);
}

}  // namespace

double Real::unconstrain(double x, std::string_view name) const {
  if (!std::isfinite(x)) refuse(name, x, "a finite number");
  return x;
}

double Positive::unconstrain(double x, std::string_view name) const {
  if (!(x > 0.0 && std::isfinite(x))) refuse(name, x, "positive (greater than 0) and finite");
  return std::log(x);
}

Lower::Lower(double lower, std::string_view name) : lower_(lower) { require_finite(lower, "lower", name); }

double Lower::unconstrain(double x, std::string_view name) const {
  if (!(x > lower_ && std::isfinite(x))) refuse(name, x, fmt::format("greater than {} and finite", lower_));
  return std::log(x - lower_);
}

Upper::Upper(double upper, std::string_view name) : upper_(upper) { require_finite(upper, "upper", name); }

double Upper::unconstrain(double x, std::string_view name) const {
  if (!(x < upper_ && std::isfinite(x))) refuse(name, x, fmt::format("less than {} and finite", upper_));
  return std::log(upper_ - x);
}

Interval::Interval(double lower, double upper, std::string_view name)
    : lower_(lower), upper_(upper), width_(upper - lower) {
  require_finite(lower, "lower", name);
  require_finite(upper, "upper", name);
  if (!(lower < upper)) {
    throw UsageError(fmt::format("{}: lower bound {} is not below upper bound {}; give them in rising order",
                                 name, lower, upper));
  }
  if (!std::isfinite(width_)) {
    throw UsageError(fmt::format("{}: bounds {} and {} are too far apart: their distance is not finite", name,
                                 lower, upper));
  }
  // Rounding is monotone, so that lower + width <= upper keeps every lower + width * s within the bounds.
  while (lower_ + width_ > upper_) width_ = std::nextafter(width_, 0.0);
  log_width_ = std::log(width_);
}

double Interval::unconstrain(double x, std::string_view name) const {
  if (!(x > lower_ && x < upper_)) refuse(name, x, fmt::format("strictly between {} and {}", lower_, upper_));
  return std::log(x - lower_) - std::log(upper_ - x);
}

void Ordered::unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const {
  for (std::size_t k = 0; k < size_; ++k) {
    if (!std::isfinite(x[k])) refuse(element(name, k), x[k], "a finite number");
    if (k > 0 && !(x[k] > x[k - 1])) {
      refuse(element(name, k), x[k], fmt::format("greater than {} = {}", element(name, k - 1), x[k - 1]));
    }
    u[k] = k == 0 ? x[0] : std::log(x[k] - x[k - 1]);
  }
}

void PositiveOrdered::unconstrain(std::span<const double> x, std::span<double> u,
                                  std::string_view name) const {
  double last = 0.0;
  for (std::size_t k = 0; k < size_; ++k) {
    if (!(x[k] > last && std::isfinite(x[k]))) {
      refuse(element(name, k), x[k],
             k == 0 ? std::string("positive (greater than 0) and finite")
                    : fmt::format("finite and greater than {} = {}", element(name, k - 1), last));
    }
    u[k] = std::log(x[k] - last);
    last = x[k];
  }
}

Simplex::Simplex(std::size_t size) {
  for (std::size_t after = size - 1; after > 0; --after) {
    shifts_.push_back(std::log(static_cast<double>(after)));
  }
}

void Simplex::unconstrain(std::span<const double> x, std::span<double> u, std::string_view name) const {
  double sum = 0.0;
  for (std::size_t k = 0; k < size(); ++k) {
    if (!(x[k] > 0.0 && std::isfinite(x[k]))) refuse(element(name, k), x[k], "positive (part of a simplex)");
    sum += x[k];
  }
  if (std::abs(sum - 1.0) > unit_tolerance) {
    throw Error(fmt::format("{} sums to {}: the entries of a simplex must sum to 1", name, sum));
  }
  // From the end, with sums of what comes after: no difference of nearly equal numbers.
  double after = x[shifts_.size()];
  for (std::size_t k = shifts_.size(); k-- > 0;) {
    u[k] = std::log(x[k]) - std::log(after) + shifts_[k];
    after += x[k];
  }
}

void CholeskyCorrelation::unconstrain(std::span<const double> x, std::span<double> u,
                                      std::string_view name) const {
  std::size_t row_start = 0;  // of row i in u
  for (std::size_t i = 0; i < rows_; row_start += i, ++i) {
    double squares = 0.0;
    for (std::size_t j = 0; j < rows_; ++j) {
      const double entry = x[i + j * rows_];
      if (!std::isfinite(entry)) refuse(element(name, i, j), entry, "a finite number");
      if (j > i && entry != 0.0) refuse(element(name, i, j), entry, "0 (above the diagonal)");
      squares += entry * entry;
    }
    const double diagonal = x[i + i * rows_];
    if (!(diagonal > 0.0)) refuse(element(name, i, i), diagonal, "positive (on the diagonal)");
    if (std::abs(squares - 1.0) > unit_tolerance) {
      throw Error(fmt::format(
          "row {} of {} has length {}: every row of a correlation's Cholesky factor must have length 1",
          i + 1, name, std::sqrt(squares)));
    }
    // tanh u = L_ij / left_ij is the same as sinh u = L_ij / left_i(j+1), and left is the length of what
    // comes after.
    double after = diagonal;
    for (std::size_t j = i; j-- > 0;) {
      const double entry = x[i + j * rows_];
      u[row_start + j] = std::asinh(entry / after);
      after = std::hypot(after, entry);
    }
  }
}

}  // namespace onward::transform
