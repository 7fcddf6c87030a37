// What is observed, checked row by row and laid out as the sums over rows read it.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/glm/family.hpp"
#include "onward/glm/spread.hpp"
#include "onward/simd/special.hpp"
#include "onward/util/release.hpp"

namespace onward::glm {
namespace {

std::string place_of(const RowOptions& options, std::size_t row) {
  return options.place ? options.place(row) : fmt::format("row {}", row + 1);
}

void check_column(std::string_view name, std::span<const double> values, std::size_t rows, double least,
                  std::string_view wanted, const RowOptions& options) {
  if (values.empty()) return;
  if (values.size() != rows)
    throw Error(
        fmt::format("there are {} rows of y but {} of {}: give one for each row", rows, values.size(), name));
  for (std::size_t i = 0; i < rows; ++i)
    if (!std::isfinite(values[i]) || values[i] < least)
      throw Error(
          fmt::format("{} in {} is {}: it must be {}", name, place_of(options, i), values[i], wanted));
}

Floats padded(std::span<const double> values) {
  Floats out(padded_rows(values.size()), 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]);
  return out;
}

constexpr std::size_t most_categories = 100;  // of an ordinal y

constexpr double most_weight = 1e12;  // times a count, and squared, it is still a float

double log_choose(double n, double y) {
  return simd::lgamma(n + 1) - simd::lgamma(y + 1) - simd::lgamma(n - y + 1);
}

/// Throws if numbers are so far from 0 that floats hardly tell them apart.
void check_spread(std::span<const double> y, const std::vector<double>& offset) {
  const auto [mean, sd] = spread_of(y, offset);
  constexpr double most = 1e5;
  constexpr double rounding = 1e-12;  // all equal: said elsewhere
  if (sd > rounding * std::abs(mean) && std::abs(mean) > most * sd)
    throw Error(
        fmt::format("y has mean {:.6g} and sd {:.3g}, too far from 0 for computations in float: "
                    "subtract the mean from y",
                    mean, sd));
}

/// Of many classes each should have rows: one stray label would make thousands.
void check_classes(std::span<const double> y, std::size_t classes) {
  constexpr std::size_t few = 100;
  if (classes <= few) return;
  std::vector<bool> seen(classes);
  for (const double v : y) seen[static_cast<std::size_t>(v)] = true;
  const auto empty = std::ranges::find(seen, false);
  if (empty == seen.end()) return;
  const auto largest = std::ranges::max_element(y);
  throw Error(fmt::format(
      "y in row {} is {}, which makes {} classes, but no row has class {}: check that label, or number the "
      "classes from 0 without gaps",
      largest - y.begin() + 1, *largest, classes, empty - seen.begin()));
}

}  // namespace

Observations::Observations(Family family, std::span<const double> y, const RowOptions& options)
    : family_(family), rows_(y.size()) {
  if (rows_ == 0) throw Error("there are no rows: y is empty");
  check_column("weights", options.weights, rows_, 0, "a number >= 0", options);
  for (std::size_t i = 0; i < options.weights.size(); ++i)
    if (options.weights[i] > most_weight)
      throw Error(fmt::format("weights in {} is {}: it must be at most {}", place_of(options, i),
                              options.weights[i], most_weight));
  if (!options.weights.empty() &&
      std::all_of(options.weights.begin(), options.weights.end(), [](double w) { return w == 0; }))
    throw Error("every weight is 0: no row counts. Give some rows a weight above 0");
  check_column("offset", options.offset, rows_, -INFINITY, "a finite number", options);
  if (family == Family::gaussian || family == Family::student_t) check_spread(y, options.offset);
  if (family == Family::binomial && options.trials.empty())
    throw UsageError("the binomial family needs the number of trials of each row (`trials`)");
  if (family != Family::binomial && !options.trials.empty())
    throw UsageError(fmt::format("trials are for the binomial family, not for {}", to_string(family)));
  check_column("trials", options.trials, rows_, 0, "a whole number >= 0", options);
  check_y(y, options);
  numbers_ = family_numbers(family_, categories_);
  y_ = padded(y);
  if (!options.weights.empty()) weights_ = padded(options.weights);
  if (!options.trials.empty()) trials_ = padded(options.trials);
  if (!options.offset.empty()) offset_ = padded(options.offset);
  prepare_rows();
}

void Observations::check_y(std::span<const double> y, const RowOptions& options) {
  constexpr double most = 16777216;  // floats hold every whole number up to here
  const auto whole = [](double v) { return v == std::floor(v); };
  const std::string_view name = to_string(family_);
  const auto refuse = [&](std::size_t row, double v, std::string_view family, std::string_view wanted) {
    throw Error(
        fmt::format("y in {} is {}: the {} family needs {}", place_of(options, row), v, family, wanted));
  };
  for (std::size_t i = 0; i < rows_; ++i) {
    const double v = y[i];
    if (!std::isfinite(v)) refuse(i, v, name, "finite numbers");
    switch (family_) {
      case Family::gaussian:
      case Family::student_t:
        if (std::abs(v) > 1e30) refuse(i, v, name, "numbers below 1e30");
        break;
      case Family::gamma:
        if (!(v >= 1e-30 && v <= 1e30)) refuse(i, v, name, "numbers above 0 (from 1e-30 to 1e30)");
        break;
      case Family::bernoulli:
      case Family::probit:
      case Family::cloglog:
        if (v != 0 && v != 1) refuse(i, v, name, "0 or 1");
        break;
      case Family::binomial:
        if (!whole(options.trials[i]) || options.trials[i] > most)
          throw Error(fmt::format("trials in {} is {}: it must be a whole number up to {}",
                                  place_of(options, i), options.trials[i], most));
        if (!whole(v) || v < 0 || v > options.trials[i])
          refuse(i, v, name, fmt::format("a whole number from 0 to its trials, {}", options.trials[i]));
        break;
      case Family::categorical: {
        const double end = options.classes > 0 ? static_cast<double>(options.classes) : 65536;
        if (!whole(v) || v < 0 || v >= end) refuse(i, v, name, fmt::format("a class from 0 to {}", end - 1));
        classes_ = std::max(classes_, static_cast<std::size_t>(v) + 1);
        break;
      }
      case Family::ordinal: {
        const double last = options.classes > 0 ? static_cast<double>(options.classes) : most_categories;
        if (!whole(v) || v < 1 || v > last) refuse(i, v, name, fmt::format("a class from 1 to {}", last));
        categories_ = std::max(categories_, static_cast<std::size_t>(v));
        break;
      }
      case Family::poisson:
      case Family::zero_inflated_poisson:
      case Family::negative_binomial:
        if (!whole(v) || v < 0 || v > most)
          refuse(i, v, name, fmt::format("a whole number from 0 to {}", most));
        break;
    }
  }
  if (family_ == Family::ordinal) {
    if (options.classes > most_categories)
      throw UsageError(fmt::format("y has {} classes: the ordinal family takes up to {}", options.classes,
                                   most_categories));
    categories_ = std::max(categories_, options.classes);
    if (options.classes == 0 && std::ranges::max(y) < 2)
      throw Error("every y is 1: the ordinal family needs at least 2 classes");
  }
  if (family_ == Family::categorical) {
    if (options.classes == 0) check_classes(y, classes_);
    classes_ = std::max(classes_, options.classes);
    if (classes_ < 2) throw Error("every y is 0: the categorical family needs at least 2 classes");
  }
}

void Observations::prepare_rows() {
  double error_squares = 0;  // of the log likelihood, in units of a float's rounding
  for (std::size_t i = 0; i < rows_; ++i) total_weight_ += weight(i);
  const auto fill = [&](Floats& out, auto f) {
    out.assign(padded_rows(rows_), 0.0f);
    for (std::size_t i = 0; i < rows_; ++i) out[i] = static_cast<float>(f(i));
  };
  const auto w = [&](std::size_t i) { return weight(i); };
  const auto count_error = [&](auto f) {
    for (std::size_t i = 0; i < rows_; ++i) error_squares += f(i) * f(i);
  };
  switch (family_) {
    case Family::gaussian:
      fill(second_, w);
      count_error(w);
      constant_ = -0.5 * std::log(2 * M_PI) * total_weight_;
      break;
    case Family::student_t:
      fill(second_, w);
      count_error(w);
      break;
    case Family::ordinal:
      fill(second_, w);
      count_error(w);
      codes_.assign(padded_rows(rows_), 0);
      class_weights_.assign(categories_, 0.0);
      for (std::size_t i = 0; i < rows_; ++i) {
        codes_[i] = static_cast<std::uint8_t>(y(i) - 1);
        class_weights_[codes_[i]] += w(i);
      }
      break;
    case Family::bernoulli:
      if (weights_.empty()) {
        fill(first_, [&](std::size_t i) { return y(i) - 0.5; });
        release(y_);
      } else {
        fill(first_, [&](std::size_t i) { return w(i) * y(i); });
        fill(second_, [&](std::size_t i) { return w(i) * (1 - y(i)); });
      }
      count_error(w);
      break;
    case Family::probit:
      fill(first_, [&](std::size_t i) { return 2 * y(i) - 1; });
      fill(second_, w);
      count_error(w);
      break;
    case Family::cloglog:
      fill(second_, w);
      count_error(w);
      break;
    case Family::binomial:
      fill(first_, [&](std::size_t i) { return w(i) * y(i); });
      fill(second_, [&](std::size_t i) { return w(i) * (trials_[i] - y(i)); });
      count_error([&](std::size_t i) { return w(i) * trials_[i]; });
      for (std::size_t i = 0; i < rows_; ++i) constant_ += w(i) * log_choose(trials_[i], y(i));
      break;
    case Family::categorical:
      break;
    case Family::poisson:
    case Family::zero_inflated_poisson:
      fill(first_, [&](std::size_t i) { return w(i) * y(i); });
      fill(second_, [&](std::size_t i) { return w(i) * std::max(y(i), 1.0); });
      fill(third_, [&](std::size_t i) { return std::log(std::max(y(i), 1.0)); });
      count_error([&](std::size_t i) { return w(i) * std::sqrt(y(i) + 1); });
      // The row function leaves out y log m - m, with the m = log m of its float.
      for (std::size_t i = 0; i < rows_; ++i)
        if (family_ == Family::poisson || y(i) > 0)
          constant_ +=
              w(i) * (y(i) * static_cast<double>(third_[i]) - std::max(y(i), 1.0) - simd::lgamma(y(i) + 1));
      break;
    case Family::gamma:
      fill(first_, [&](std::size_t i) { return std::log(y(i)); });
      fill(second_, w);
      count_error(w);
      for (std::size_t i = 0; i < rows_; ++i) constant_ -= w(i) * std::log(y(i));
      break;
    case Family::negative_binomial: {
      fill(first_, [&](std::size_t i) { return w(i) * y(i); });
      fill(second_, w);
      count_error([&](std::size_t i) { return w(i) * (y(i) + 1); });
      std::map<double, double> large;
      tail_weights_.assign(most_steps, 0.0);
      for (std::size_t i = 0; i < rows_; ++i) {
        constant_ -= w(i) * simd::lgamma(y(i) + 1);
        const auto steps = std::min(static_cast<std::size_t>(y(i)), most_steps);
        if (steps > 0) tail_weights_[steps - 1] += w(i);
        if (y(i) > static_cast<double>(most_steps)) large[y(i)] += w(i);
      }
      for (std::size_t k = most_steps - 1; k > 0; --k) tail_weights_[k - 1] += tail_weights_[k];
      while (!tail_weights_.empty() && tail_weights_.back() == 0) tail_weights_.pop_back();
      large_counts_.assign(large.begin(), large.end());
      break;
    }
  }
  constexpr double rounding = 6e-8, allowed = 1e-3;
  if (rounding * std::sqrt(error_squares) > allowed) arithmetic_ = Arithmetic::in_double;
}

Observations Observations::one_against_rest(std::size_t k) const {
  Observations rest;
  rest.family_ = Family::bernoulli;
  rest.rows_ = rows_;
  rest.weights_ = weights_;
  rest.y_.assign(y_.size(), 0.0f);
  for (std::size_t i = 0; i < rows_; ++i) rest.y_[i] = y_[i] == static_cast<float>(k) ? 1.0f : 0.0f;
  rest.prepare_rows();
  return rest;
}

}  // namespace onward::glm
