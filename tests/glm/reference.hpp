#pragma once
// Regressions written as anyone would write them first, for any scalar: what the fast ones are checked
// against.

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/callable.hpp"
#include "onward/target/line_view.hpp"

namespace onward::testing {

/// A regression's data in double, and the same as the library's own types.
struct Problem {
  glm::Family family;
  std::size_t rows, columns;  // the column of ones included
  bool intercept;
  std::vector<double> x, y;  // x: row after row, without the ones
  glm::RowOptions options;
  glm::PosteriorOptions priors = plain_priors();

  /// Priors that do not depend on the data.
  static glm::PosteriorOptions plain_priors() {
    return {.coefficients = glm::Prior::normal(0, 2.5),
            .intercept = glm::Prior::normal(0, 10),
            .scale = glm::Prior::student_t(3, 0, 2.5),
            .degrees = glm::Prior::gamma(2, 0.1),
            .centre = false};
  }

  /// As the density sees it: centred if the priors are for that.
  double entry(std::size_t i, std::size_t j) const {
    if (intercept && j == 0) return 1;
    return given(i, j) - (means.empty() ? 0 : means[j]);
  }
  double given(std::size_t i, std::size_t j) const {
    const std::size_t stored = columns - (intercept ? 1 : 0);
    return x[i * stored + j - (intercept ? 1 : 0)];
  }
  std::vector<double> means = {};  // of the columns, each row counted as often as its weight says
  /// The same with a prior of the intercept that stands at the means.
  Problem centred() const {
    Problem p = *this;
    p.priors.centre = true;
    p.means.assign(columns, 0.0);
    double total = 0;
    for (std::size_t i = 0; i < rows; ++i) total += weight(i);
    for (std::size_t j = 1; j < columns; ++j)
      for (std::size_t i = 0; i < rows; ++i) p.means[j] += weight(i) * given(i, j) / total;
    return p;
  }
  double weight(std::size_t i) const { return options.weights.empty() ? 1 : options.weights[i]; }
  double offset(std::size_t i) const { return options.offset.empty() ? 0 : options.offset[i]; }
  std::size_t classes() const { return family == glm::Family::categorical ? options.classes : 1; }
  bool ordinal() const { return family == glm::Family::ordinal; }
  std::size_t categories() const { return ordinal() ? options.classes : 2; }
  /// The numbers that the family has besides the predictor, which of them are known, and the others.
  std::vector<glm::NumberInfo> numbers() const { return glm::family_numbers(family, categories()); }
  std::optional<double> known(std::size_t number) const {
    if (ordinal()) return {};
    return number == 0 ? priors.known_scale : priors.known_degrees;
  }
  std::vector<std::size_t> sampled() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < numbers().size(); ++i)
      if (!known(i)) all.push_back(i);
    return all;
  }
  /// Makes them all known: the first one as it is given, or a third of it where it is a probability. Ordered
  /// classes become two.
  void know_numbers(double first) {
    priors.known_scale = family == glm::Family::zero_inflated_poisson ? first / 3 : first;
    priors.known_degrees = 4;
    if (!ordinal()) return;
    options.classes = 2;
    for (double& label : y) label = std::min(label, 2.0);
  }
  std::size_t dimension() const { return columns * classes() + sampled().size(); }

  /// What is reported for theta, and the other way round.
  std::vector<double> reported(const std::vector<double>& theta) const {
    std::vector<double> out = theta;
    const std::size_t width = columns;
    for (std::size_t k = 0; k < classes(); ++k)
      for (std::size_t j = 1; j < means.size(); ++j) out[k * width] -= means[j] * theta[k * width + j];
    const auto which = sampled();
    for (std::size_t i = 0; i < which.size() && !ordinal(); ++i) {
      const double number = std::exp(theta[width * classes() + i]);
      const auto kind = numbers()[which[i]].kind;
      out[width * classes() + i] = kind == glm::NumberInfo::Kind::odds        ? number / (1 + number)
                                   : kind == glm::NumberInfo::Kind::above_one ? 1 + number
                                                                              : number;
    }
    if (!ordinal()) return out;
    std::vector<double> thresholds{-out[0]};
    for (std::size_t i = width; i < theta.size(); ++i)
      thresholds.push_back(thresholds.back() + std::exp(theta[i]));
    thresholds.insert(thresholds.end(), out.begin() + 1, out.begin() + static_cast<std::ptrdiff_t>(width));
    return thresholds;
  }
  std::vector<double> sampled_from(const std::vector<double>& given) const {
    std::vector<double> theta = given;
    const std::size_t first = columns * classes(), gaps = categories() - 2;
    if (ordinal()) {
      theta[0] = -given[0];
      for (std::size_t j = 1; j < columns; ++j) theta[j] = given[gaps + j];
      for (std::size_t i = 0; i < gaps; ++i) theta[columns + i] = std::log(given[i + 1] - given[i]);
    }
    for (std::size_t k = 0; k < classes(); ++k)
      for (std::size_t j = 1; j < means.size(); ++j) theta[k * columns] += means[j] * theta[k * columns + j];
    const auto which = sampled();
    for (std::size_t i = 0; i < which.size() && !ordinal(); ++i) {
      const auto kind = numbers()[which[i]].kind;
      const double number = given[first + i];
      theta[first + i] = std::log(kind == glm::NumberInfo::Kind::odds        ? number / (1 - number)
                                  : kind == glm::NumberInfo::Kind::above_one ? number - 1
                                                                             : number);
    }
    return theta;
  }

  glm::RegressionPosterior posterior(std::size_t threads = 1) const {
    const std::size_t stored = columns - (intercept ? 1 : 0);
    return glm::RegressionPosterior(std::make_shared<glm::Design>(glm::Design::dense(
                                        std::span<const double>(x), rows, stored, intercept)),
                                    std::make_shared<glm::Observations>(family, y, options), priors,
                                    std::make_shared<ThreadPool>(threads));
  }
};

template <class T>
T log_prior(const glm::Prior& prior, const T& x) {
  using std::log1p;
  if (prior.kind == glm::Prior::Kind::flat) return T(0.0) * x;
  const T z = (x - prior.location) / prior.scale;
  if (prior.kind == glm::Prior::Kind::normal) return -0.5 * (z * z);
  using std::log;
  if (prior.kind == glm::Prior::Kind::gamma) return (prior.degrees - 1) * log(x) - z;
  if (prior.kind == glm::Prior::Kind::beta)
    return (prior.degrees - 1) * log(x) + (prior.scale - 1) * log(1.0 - x);
  return -0.5 * (prior.degrees + 1) * log1p(z * z / prior.degrees);
}

/// log p(y | eta) of one row, normalised; `numbers` are as they are reported, or gaps.
template <class T>
T log_row(const Problem& p, std::size_t i, const T& eta, const std::vector<T>& numbers) {
  using std::exp, std::expm1, std::lgamma, std::log, std::log1p;
  const double y = p.y[i];
  const T scale = numbers.empty() ? T(1.0) : numbers[0];
  switch (p.family) {
    case glm::Family::gaussian: {
      const T z = (y - eta) / scale;
      return -0.5 * (z * z) - log(scale) - 0.5 * std::log(2 * M_PI);
    }
    case glm::Family::bernoulli:
      return y * eta - softplus(eta);
    case glm::Family::probit:
      return normal_lcdf(T(eta * (2 * y - 1)));
    case glm::Family::cloglog: {
      const T m = exp(eta);
      return y > 0.5 ? T(log(-expm1(-m))) : T(-m);
    }
    case glm::Family::binomial: {
      const double n = p.options.trials[i];
      return y * eta - n * softplus(eta) + std::lgamma(n + 1) - std::lgamma(y + 1) - std::lgamma(n - y + 1);
    }
    case glm::Family::poisson:
      return y * eta - exp(eta) - std::lgamma(y + 1);
    case glm::Family::negative_binomial: {
      const T total = log(exp(eta) + scale);
      return lgamma(y + scale) - lgamma(scale) - std::lgamma(y + 1) + scale * (log(scale) - total) +
             y * (eta - total);
    }
    case glm::Family::gamma:
      return scale * (log(scale) - eta) - lgamma(scale) + (scale - 1.0) * std::log(y) - scale * y * exp(-eta);
    case glm::Family::student_t: {
      const T z = (y - eta) / scale, nu = numbers[1];
      return lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * nu) - 0.5 * log(M_PI * nu) - log(scale) -
             0.5 * (nu + 1.0) * log1p(z * z / nu);
    }
    case glm::Family::ordinal: {
      const auto label = static_cast<std::size_t>(y);
      std::vector<T> below{T(0.0)};  // probabilities of being no higher than each class
      T threshold(0.0);
      for (std::size_t k = 1; k < p.categories(); ++k) {
        below.push_back(1.0 / (1.0 + exp(eta - threshold)));
        if (k <= numbers.size()) threshold += numbers[k - 1];
      }
      below.push_back(T(1.0));
      return log(below[label] - below[label - 1]);
    }
    case glm::Family::zero_inflated_poisson:
      if (y == 0) return log(scale + (1.0 - scale) * exp(-exp(eta)));
      return log(1.0 - scale) + y * eta - exp(eta) - std::lgamma(y + 1);
    case glm::Family::categorical:
      break;
  }
  return T(0.0);
}

/// The log posterior of a Problem for any scalar.
struct ReferenceDensity {
  Problem p;

  template <class V>
  auto operator()(const V& t) const {
    using std::exp, std::log;
    using T = scalar_of<V>;
    T sum(0.0);
    const std::size_t width = p.columns;
    for (std::size_t k = 0; k < p.classes(); ++k)
      for (std::size_t j = 0; j < width; ++j) {
        const glm::Prior& prior = !p.priors.each.empty()  ? p.priors.each[j]
                                  : p.intercept && j == 0 ? *p.priors.intercept
                                                          : *p.priors.coefficients;
        const bool threshold = p.ordinal() && j == 0 && p.priors.each.empty();
        sum += log_prior(prior, T(threshold ? -1.0 * t[j] : 1.0 * t[k * width + j]));
      }
    std::vector<T> numbers;
    std::size_t next = p.columns * p.classes();
    for (std::size_t i = 0; i < p.numbers().size(); ++i) {
      if (p.known(i)) {
        numbers.push_back(T(*p.known(i)));
        continue;
      }
      const T u = t[next++], x = exp(u);
      switch (p.numbers()[i].kind) {
        case glm::NumberInfo::Kind::positive:
        case glm::NumberInfo::Kind::gap:
          numbers.push_back(x);
          sum += log_prior(*p.priors.scale, x) + u;
          break;
        case glm::NumberInfo::Kind::above_one:
          numbers.push_back(1.0 + x);
          sum += log_prior(*p.priors.degrees, numbers.back()) + u;
          break;
        case glm::NumberInfo::Kind::odds:
          numbers.push_back(x / (1.0 + x));
          sum += log_prior(*p.priors.scale, numbers.back()) + u - 2.0 * log(1.0 + x);
          break;
      }
    }
    for (std::size_t i = 0; i < p.rows; ++i) {
      const auto predictor = [&](std::size_t k) {
        T eta(p.offset(i));
        for (std::size_t j = 0; j < width; ++j) eta += p.entry(i, j) * t[k * width + j];
        return eta;
      };
      if (p.family == glm::Family::categorical) {
        T total(0.0), chosen(0.0);
        for (std::size_t k = 0; k < p.classes(); ++k) {
          const T eta = predictor(k);
          total += exp(eta);
          if (p.y[i] == static_cast<double>(k)) chosen = eta;
        }
        sum += p.weight(i) * (chosen - log(total));
      } else {
        sum += p.weight(i) * log_row(p, i, predictor(0), numbers);
      }
    }
    return sum;
  }
};

struct Shape {
  std::size_t rows = 300, predictors = 4;
  bool intercept = true, weights = false, offset = false;
  std::uint64_t seed = 5;
};

/// Made-up data of a family. Numbers are floats, so that both sides see the same.
inline Problem problem(glm::Family family, Shape shape = {}) {
  if (family == glm::Family::ordinal) shape.intercept = true;  // it has thresholds in any case
  Problem p{.family = family,
            .rows = shape.rows,
            .columns = shape.predictors + (shape.intercept ? 1 : 0),
            .intercept = shape.intercept,
            .x = {},
            .y = {},
            .options = {}};
  const Stream stream(shape.seed, static_cast<std::uint32_t>(family));
  p.x.resize(shape.rows * shape.predictors);
  stream.normals(0, Purpose::noise, p.x);
  std::vector<double> beta(shape.predictors), noise(shape.rows), uniforms(shape.rows), extra(shape.rows);
  stream.normals(1, Purpose::noise, beta);
  stream.normals(2, Purpose::noise, noise);
  stream.uniforms(3, Purpose::noise, uniforms);
  stream.uniforms(4, Purpose::noise, extra);
  for (double& x : p.x) x = static_cast<float>(x);
  if (family == glm::Family::categorical) p.options.classes = 3;
  if (family == glm::Family::ordinal) p.options.classes = 4;
  for (std::size_t i = 0; i < shape.rows; ++i) {
    double eta = 0.2;
    for (std::size_t j = 0; j < shape.predictors; ++j) eta += 0.5 * beta[j] * p.x[i * shape.predictors + j];
    if (shape.offset) p.options.offset.push_back(static_cast<float>(extra[i] - 0.5));
    if (shape.weights) p.options.weights.push_back(static_cast<float>(0.5 + extra[i]));
    const double u = uniforms[i];
    switch (family) {
      case glm::Family::gaussian:
        p.y.push_back(static_cast<float>(eta + 0.7 * noise[i]));
        break;
      case glm::Family::bernoulli:
      case glm::Family::probit:
      case glm::Family::cloglog:
        p.y.push_back(u < 1 / (1 + std::exp(-eta)) ? 1 : 0);
        break;
      case glm::Family::binomial:
        p.options.trials.push_back(std::floor(1 + 9 * extra[i]));
        p.y.push_back(std::floor((p.options.trials.back() + 1) * u / (1 + std::exp(-eta))));
        break;
      case glm::Family::categorical:
        p.y.push_back(std::min(2.0, std::floor(3 * u / (1 + std::exp(-eta)) * 1.5)));
        break;
      case glm::Family::gamma:
        p.y.push_back(static_cast<float>(-(std::log(u) + std::log(extra[i])) / 2 * std::exp(eta)));
        break;
      case glm::Family::student_t:
        p.y.push_back(static_cast<float>(eta + (u < 0.1 ? 3 : 0.7) * noise[i]));
        break;
      case glm::Family::ordinal: {
        const double latent = eta + std::log(u / (1 - u));
        p.y.push_back(1 + (latent > -0.8 ? 1 : 0) + (latent > 0.3 ? 1 : 0) + (latent > 1.6 ? 1 : 0));
        break;
      }
      case glm::Family::zero_inflated_poisson:
        p.y.push_back(extra[i] < 0.3 ? 0 : std::floor(-std::log(u) * std::exp(eta)));
        break;
      case glm::Family::poisson:
      case glm::Family::negative_binomial:
        p.y.push_back(std::floor(-std::log(u) * std::exp(eta)));
        break;
    }
  }
  return p;
}

inline const std::vector<glm::Family>& all_families() {
  static const std::vector<glm::Family> families{
      glm::Family::gaussian,  glm::Family::bernoulli,         glm::Family::probit,
      glm::Family::cloglog,   glm::Family::binomial,          glm::Family::categorical,
      glm::Family::poisson,   glm::Family::negative_binomial, glm::Family::gamma,
      glm::Family::student_t, glm::Family::ordinal,           glm::Family::zero_inflated_poisson};
  return families;
}

}  // namespace onward::testing
