#include "onward/glm/family.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "onward/ad/polygamma.hpp"
#include "onward/error.hpp"
#include "onward/glm/spread.hpp"
#include "onward/simd/special.hpp"
#include "onward/util/suggest.hpp"
#include "row_loop.hpp"

namespace onward::glm {
namespace {

struct Named {
  Family family;
  std::string_view name;
};
constexpr Named families[] = {
    {Family::gaussian, "gaussian"}, {Family::bernoulli, "bernoulli"},
    {Family::probit, "probit"},     {Family::cloglog, "cloglog"},
    {Family::binomial, "binomial"}, {Family::categorical, "categorical"},
    {Family::poisson, "poisson"},   {Family::negative_binomial, "negative-binomial"}};

// The row functions with the arrays they read. jet(i, eta) is for the lanes that begin at row i.

struct BernoulliRows {
  const float* y_less_half;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return bernoulli_row(eta, load_rows<T>(y_less_half + i));
  }
};

struct BinomialRows {
  const float *yes, *no;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return logit_row(eta, load_rows<T>(yes + i), load_rows<T>(no + i));
  }
};

/// A negative binomial count is so many successes before phi failures, at log odds eta - log phi.
struct NegativeBinomialRows {
  const float *y, *weight;
  double phi, log_phi;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    using S = simd::scalar_t<T>;
    return logit_row(T(eta - T(S(log_phi))), load_rows<T>(y + i), T(load_rows<T>(weight + i) * T(S(phi))));
  }
};

struct PoissonRows {
  const float *y, *m, *log_m;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return poisson_row(T(eta - load_rows<T>(log_m + i)), load_rows<T>(y + i), load_rows<T>(m + i));
  }
};

template <class T>
RowJet<T> times(const RowJet<T>& j, const T& w) {
  return {T(w * j.value), T(w * j.slope), T(w * j.curvature)};
}

struct GaussianRows {
  const float *y, *weight;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(gaussian_row(eta, load_rows<T>(y + i)), load_rows<T>(weight + i));
  }
};

struct ProbitRows {
  const float *sign, *weight;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(probit_row(eta, load_rows<T>(sign + i)), load_rows<T>(weight + i));
  }
};

struct CloglogRows {
  const float *y, *weight;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(cloglog_row(eta, load_rows<T>(y + i)), load_rows<T>(weight + i));
  }
};

template <class T>
inline T kept(const T& x, const simd::mask_t<T>* mask) {
  return mask ? simd::select(*mask, x, T(simd::scalar_t<T>(0))) : x;
}

// Flattened: a call inside the loop would send every register to memory and back.
template <class T, bool moves, bool looks_ahead, class Rows>
[[gnu::flatten]] LineSums piece_sums(const Rows& rows, const RowLine& line, std::size_t begin,
                                     std::size_t end) {
  RowSum<T> value, slope, curvature, next_slope, next_curvature;
  const T alpha(static_cast<simd::scalar_t<T>>(line.alpha));
  for_each_group<T>(
      begin, end,
      [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) __attribute__((always_inline)) {
        T eta = load_rows<T>(line.eta + i), d;
        if constexpr (moves) {
          d = load_rows<T>(line.d + i);
          eta = simd::mul_add(alpha, d, eta);
          if (line.moved) store_rows(line.moved + i, eta);
        }
        const RowJet<T> jet = rows.jet(i, eta);
        value.add(part, kept(jet.value, mask));
        const T first = kept(jet.slope, mask), second = kept(jet.curvature, mask);
        if constexpr (moves) {
          slope.add_product(part, first, d);
          curvature.add_product(part, T(second * d), d);
        }
        if constexpr (looks_ahead) {
          const T next = load_rows<T>(line.next + i);
          next_slope.add_product(part, first, next);
          next_curvature.add_product(part, T(second * next), next);
        }
      },
      [&] {
        value.end_chunk();
        if constexpr (moves) slope.end_chunk(), curvature.end_chunk();
        if constexpr (looks_ahead) next_slope.end_chunk(), next_curvature.end_chunk();
      });
  return {value.sum(), slope.sum(), curvature.sum(), next_slope.sum(), next_curvature.sum()};
}

template <class T, class Rows>
LineSums sums_as(const Rows& rows, const RowLine& whole, std::size_t count, ThreadPool& pool) {
  const auto piece = [&](std::size_t p) {
    const std::size_t begin = p * piece_rows, end = std::min(begin + piece_rows, count);
    RowLine line = whole;  // with d and next such that row i is at i
    const std::size_t skip = p * (whole.stride - piece_rows);
    if (line.d) line.d += skip;
    if (line.next) line.next += skip;
    if (line.d)
      return line.next ? piece_sums<T, true, true>(rows, line, begin, end)
                       : piece_sums<T, true, false>(rows, line, begin, end);
    return line.next ? piece_sums<T, false, true>(rows, line, begin, end)
                     : piece_sums<T, false, false>(rows, line, begin, end);
  };
  thread_local std::vector<LineSums> parts;
  auto& mine = parts;
  mine.resize(pieces_of(count));
  pool.for_each(mine.size(), [&](std::size_t p) { mine[p] = piece(p); });
  return tree_sum<LineSums>(mine);
}

template <class T, class Rows>
double slopes_as(const Rows& rows, const float* eta, float* slope, float* weight, std::size_t count,
                 ThreadPool& pool) {
  std::vector<double> parts(pieces_of(count));
  pool.for_each(parts.size(), [&](std::size_t p) {
    const std::size_t begin = p * piece_rows, end = std::min(begin + piece_rows, count);
    RowSum<T> value;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) {
          const RowJet<T> jet = rows.jet(i, load_rows<T>(eta + i));
          value.add(part, kept(jet.value, mask));
          if (slope) store_rows(slope + i, kept(jet.slope, mask));
          if (weight) store_rows(weight + i, kept(T(simd::neg(jet.curvature)), mask));
        },
        [&] { value.end_chunk(); });
    parts[p] = value.sum();
  });
  return tree_sum<double>(parts);
}

[[noreturn]] void refuse(std::size_t row, double y, std::string_view family, std::string_view wanted) {
  throw Error(fmt::format("y in row {} is {}: the {} family needs {}", row + 1, y, family, wanted));
}

void check_column(std::string_view name, std::span<const double> values, std::size_t rows, double least,
                  std::string_view wanted) {
  if (values.empty()) return;
  if (values.size() != rows)
    throw Error(
        fmt::format("there are {} rows of y but {} of {}: give one for each row", rows, values.size(), name));
  for (std::size_t i = 0; i < rows; ++i)
    if (!std::isfinite(values[i]) || values[i] < least)
      throw Error(fmt::format("{} in row {} is {}: it must be {}", name, i + 1, values[i], wanted));
}

Floats padded(std::span<const double> values) {
  Floats out(padded_rows(values.size()), 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]);
  return out;
}

constexpr double most_weight = 1e12;       // times a count, and squared, it is still a float
constexpr std::size_t most_steps = 65536;  // of a rising factorial, taken one by one

double log_choose(double n, double y) {
  return simd::lgamma(n + 1) - simd::lgamma(y + 1) - simd::lgamma(n - y + 1);
}

}  // namespace

std::string_view to_string(Family family) {
  for (const auto& f : families)
    if (f.family == family) return f.name;
  return "unknown";
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto& f : families) names.emplace_back(f.name);
  return names;
}

Family parse_family(std::string_view name) {
  for (const auto& f : families)
    if (f.name == name) return f.family;
  static constexpr std::pair<std::string_view, std::string_view> elsewhere[] = {
      {"logistic", "bernoulli"},   {"logit", "bernoulli"},        {"binary", "bernoulli"},
      {"normal", "gaussian"},      {"linear", "gaussian"},        {"multinomial", "categorical"},
      {"softmax", "categorical"},  {"multiclass", "categorical"}, {"negbin", "negative-binomial"},
      {"nb", "negative-binomial"}, {"counts", "poisson"}};
  std::string hint = suggestion(std::string(name), family_names());
  for (const auto& [word, family] : elsewhere)
    if (word == name) hint = fmt::format(" It is called {} here.", family);
  throw UsageError(
      fmt::format("there is no family '{}'.{} Families: {}", name, hint, joined(family_names())));
}

namespace {

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

}  // namespace

Observations::Observations(Family family, std::span<const double> y, const RowOptions& options)
    : family_(family), rows_(y.size()) {
  if (rows_ == 0) throw Error("there are no rows: y is empty");
  check_column("weights", options.weights, rows_, 0, "a number >= 0");
  for (std::size_t i = 0; i < options.weights.size(); ++i)
    if (options.weights[i] > most_weight)
      throw Error(fmt::format("weights in row {} is {}: it must be at most {}", i + 1, options.weights[i],
                              most_weight));
  if (!options.weights.empty() &&
      std::all_of(options.weights.begin(), options.weights.end(), [](double w) { return w == 0; }))
    throw Error("every weight is 0: no row counts. Give some rows a weight above 0");
  check_column("offset", options.offset, rows_, -INFINITY, "a finite number");
  if (family == Family::gaussian) check_spread(y, options.offset);
  if (family == Family::binomial && options.trials.empty())
    throw UsageError("the binomial family needs the number of trials of each row (`trials`)");
  if (family != Family::binomial && !options.trials.empty())
    throw UsageError(fmt::format("trials are for the binomial family, not for {}", to_string(family)));
  check_column("trials", options.trials, rows_, 0, "a whole number >= 0");
  check_y(y, options);
  y_ = padded(y);
  if (!options.weights.empty()) weights_ = padded(options.weights);
  if (!options.trials.empty()) trials_ = padded(options.trials);
  if (!options.offset.empty()) offset_ = padded(options.offset);
  prepare_rows();
}

namespace {

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

void Observations::check_y(std::span<const double> y, const RowOptions& options) {
  constexpr double most = 16777216;  // floats hold every whole number up to here
  const auto whole = [](double v) { return v == std::floor(v); };
  const std::string_view name = to_string(family_);
  for (std::size_t i = 0; i < rows_; ++i) {
    const double v = y[i];
    if (!std::isfinite(v)) refuse(i, v, name, "finite numbers");
    switch (family_) {
      case Family::gaussian:
        if (std::abs(v) > 1e30) refuse(i, v, name, "numbers below 1e30");
        break;
      case Family::bernoulli:
      case Family::probit:
      case Family::cloglog:
        if (v != 0 && v != 1) refuse(i, v, name, "0 or 1");
        break;
      case Family::binomial:
        if (!whole(options.trials[i]) || options.trials[i] > most)
          throw Error(fmt::format("trials in row {} is {}: it must be a whole number up to {}", i + 1,
                                  options.trials[i], most));
        if (!whole(v) || v < 0 || v > options.trials[i])
          refuse(i, v, name, fmt::format("a whole number from 0 to its trials, {}", options.trials[i]));
        break;
      case Family::categorical: {
        const double end = options.classes > 0 ? static_cast<double>(options.classes) : 65536;
        if (!whole(v) || v < 0 || v >= end) refuse(i, v, name, fmt::format("a class from 0 to {}", end - 1));
        classes_ = std::max(classes_, static_cast<std::size_t>(v) + 1);
        break;
      }
      case Family::poisson:
      case Family::negative_binomial:
        if (!whole(v) || v < 0 || v > most)
          refuse(i, v, name, fmt::format("a whole number from 0 to {}", most));
        break;
    }
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
    case Family::bernoulli:
      if (weights_.empty()) {
        fill(first_, [&](std::size_t i) { return y(i) - 0.5; });
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
      fill(first_, [&](std::size_t i) { return w(i) * y(i); });
      fill(second_, [&](std::size_t i) { return w(i) * std::max(y(i), 1.0); });
      fill(third_, [&](std::size_t i) { return std::log(std::max(y(i), 1.0)); });
      count_error([&](std::size_t i) { return w(i) * std::sqrt(y(i) + 1); });
      // The row function leaves out y log m - m, with the m = log m of its float.
      for (std::size_t i = 0; i < rows_; ++i)
        constant_ +=
            w(i) * (y(i) * static_cast<double>(third_[i]) - std::max(y(i), 1.0) - simd::lgamma(y(i) + 1));
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

double Observations::weighted_y(std::size_t row) const { return weight(row) * y(row); }

/// The weighted sum over rows of log Gamma(y + phi) - log Gamma(phi), that is of log(phi + k) for k < y, with
/// phi d/dphi and phi^2 d^2/dphi^2. Step by step: a difference of two lgammas would lose all digits where phi
/// is large and the count nearly Poisson.
Jet Observations::rising(double phi) const {
  Jet sum;
  for (std::size_t k = 0; k < tail_weights_.size(); ++k) {
    const double at = phi + static_cast<double>(k), share = phi / at;
    sum.value += tail_weights_[k] * std::log(at);
    sum.slope += tail_weights_[k] * share;
    sum.curvature -= tail_weights_[k] * share * share;
  }
  const double begin = phi + static_cast<double>(most_steps);
  for (const auto& [y, w] : large_counts_) {
    sum.value += w * (simd::lgamma(y + phi) - simd::lgamma(begin));
    sum.slope += w * phi * (simd::digamma(y + phi) - simd::digamma(begin));
    sum.curvature += w * phi * phi * (ad::polygamma(y + phi).trigamma - ad::polygamma(begin).trigamma);
  }
  return sum;
}

double Observations::constant(double scale) const {
  double sum = constant_;
  if (family_ == Family::gaussian) sum -= total_weight_ * std::log(scale);
  if (family_ == Family::negative_binomial) sum += rising(scale).value;
  return sum;
}

namespace {

/// Calls use(rows) with the row functions of the family.
template <class Use>
auto with_rows(Family family, bool weighted, const float* y, const float* first, const float* second,
               const float* third, double scale, const Use& use) {
  switch (family) {
    case Family::gaussian:
      return use(GaussianRows{y, second});
    case Family::bernoulli:
      if (!weighted) return use(BernoulliRows{first});
      return use(BinomialRows{first, second});
    case Family::binomial:
      return use(BinomialRows{first, second});
    case Family::probit:
      return use(ProbitRows{first, second});
    case Family::cloglog:
      return use(CloglogRows{y, second});
    case Family::poisson:
      return use(PoissonRows{first, second, third});
    case Family::negative_binomial:
      return use(NegativeBinomialRows{first, second, scale, std::log(scale)});
    case Family::categorical:
      break;
  }
  throw std::logic_error("categorical rows have a predictor for each class");
}

}  // namespace

LineSums Observations::sums(const RowLine& line, ThreadPool& pool) const {
  LineSums sums = with_rows(family_, !weights_.empty(), y_.data(), first_.data(), second_.data(),
                            third_.data(), line.scale, [&](const auto& rows) {
                              return arithmetic_ == Arithmetic::in_float
                                         ? sums_as<simd::Batch<float>>(rows, line, rows_, pool)
                                         : sums_as<simd::Batch<double>>(rows, line, rows_, pool);
                            });
  if (family_ == Family::gaussian) {
    const double precision = 1 / (line.scale * line.scale);
    sums = {sums.value * precision, sums.slope * precision, sums.curvature * precision,
            sums.next_slope * precision, sums.next_curvature * precision};
  }
  return sums;
}

double Observations::row_slopes(const float* eta, double scale, float* slope, float* weight,
                                ThreadPool& pool) const {
  const double value =
      with_rows(family_, !weights_.empty(), y_.data(), first_.data(), second_.data(), third_.data(), scale,
                [&](const auto& rows) {
                  return arithmetic_ == Arithmetic::in_float
                             ? slopes_as<simd::Batch<float>>(rows, eta, slope, weight, rows_, pool)
                             : slopes_as<simd::Batch<double>>(rows, eta, slope, weight, rows_, pool);
                });
  if (family_ != Family::gaussian) return value;
  const double precision = 1 / (scale * scale);
  const auto factor = static_cast<float>(precision);
  for (std::size_t i = 0; i < rows_; ++i) {
    if (slope) slope[i] *= factor;
    if (weight) weight[i] *= factor;
  }
  return value * precision;
}

Jet Observations::dispersion_jet(const float* eta, double log_phi, ThreadPool& pool, const float* d,
                                 double* mixed) const {
  using T = simd::Batch<double>;
  const double phi = std::exp(log_phi);
  struct Sums {
    double value = 0, slope = 0, curvature = 0, mixed = 0;
    Sums& operator+=(const Sums& o) {
      value += o.value, slope += o.slope, curvature += o.curvature, mixed += o.mixed;
      return *this;
    }
  };
  std::vector<Sums> parts(pieces_of(rows_));
  pool.for_each(parts.size(), [&](std::size_t p) {
    const std::size_t begin = p * piece_rows, end = std::min(begin + piece_rows, rows_);
    RowSum<T> value, slope, curvature, cross;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) {
          // With t = eta - log phi and p = logistic(t): phi times the derivative by phi of
          // y t - (y + phi) log(1 + e^t) is phi p - y (1 - p) - phi log(1 + e^t), and so on.
          const T t = load_rows<T>(eta + i) - T(log_phi), y = load_rows<T>(first_.data() + i),
                  w = load_rows<T>(second_.data() + i);
          const T f = w * T(phi);
          const auto parts_of = detail::logistic(t);
          const auto right = t > T(0.0);
          const T pr = simd::select(right, parts_of.q, parts_of.eq),
                  rest = simd::select(right, parts_of.eq, parts_of.q);
          const T softplus = simd::max(t, T(0.0)) + parts_of.softplus_rest;
          const T pull = f * pr - y * rest;
          value.add(part, kept(logit_row(t, y, f).value, mask));
          slope.add(part, kept(T(pull - f * softplus), mask));
          curvature.add(part, kept(T(f * pr - rest * pull), mask));
          if (d) cross.add(part, kept(T(load_rows<T>(d + i) * ((y + f) * pr * rest - f * pr)), mask));
        },
        [&] { value.end_chunk(), slope.end_chunk(), curvature.end_chunk(), cross.end_chunk(); });
    parts[p] = {value.sum(), slope.sum(), curvature.sum(), cross.sum()};
  });
  const Sums rows = tree_sum<Sums>(parts);
  if (mixed) *mixed = rows.mixed;
  double value = rows.value + constant_, first = rows.slope, second = rows.curvature;
  const Jet factorials = rising(phi);
  value += factorials.value, first += factorials.slope, second += factorials.curvature;
  return {value, first, second + first};
}

Jet Observations::sigma_jet(double squares, double log_sigma) const {
  const double scaled = squares * std::exp(-2 * log_sigma);
  return {constant_ - total_weight_ * log_sigma - 0.5 * scaled, scaled - total_weight_, -2 * scaled};
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
