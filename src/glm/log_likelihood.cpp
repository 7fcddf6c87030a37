#include "onward/glm/log_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "onward/glm/row_functions.hpp"
#include "onward/simd/special.hpp"

namespace onward::glm {
namespace {

/// The part of a row's log likelihood that depends on y and the number of trials alone.
double constant_of(const Observations& y, std::size_t i) {
  const double count = y.y(i);
  switch (y.family()) {
    case Family::gaussian:
      return -0.5 * std::log(2 * std::numbers::pi);
    case Family::binomial: {
      const double trials = y.trials(i);
      return simd::lgamma(trials + 1) - simd::lgamma(count + 1) - simd::lgamma(trials - count + 1);
    }
    case Family::poisson:
    case Family::zero_inflated_poisson:
    case Family::negative_binomial:
      return -simd::lgamma(count + 1);
    case Family::gamma:
      return -std::log(count);
    default:
      return 0;
  }
}

/// log sum exp of the classes' predictors, which are piece_rows apart.
double log_sum_exp(const double* eta, std::size_t classes) {
  double most = eta[0];
  for (std::size_t k = 1; k < classes; ++k) most = std::max(most, eta[k * piece_rows]);
  double sum = 0;
  for (std::size_t k = 0; k < classes; ++k) sum += std::exp(eta[k * piece_rows] - most);
  return most + std::log(sum);
}

}  // namespace

RowLogLikelihood::RowLogLikelihood(const RegressionPosterior& posterior) : posterior_(posterior) {
  for (std::size_t i = 0; i < rows(); ++i) constants_.push_back(constant_of(posterior_.observations(), i));
}

/// The predictors of a piece's rows, class after class.
void RowLogLikelihood::predict(std::size_t piece, std::span<const double> parameters, std::span<float> panel,
                               std::span<double> eta) const {
  const Design& x = posterior_.design();
  const Observations& y = posterior_.observations();
  const std::vector<double>& means = posterior_.means();
  const std::size_t width = x.columns(), begin = piece * piece_rows;
  const std::size_t count = std::min(piece_rows, rows() - begin);
  x.panel(piece, panel.data());
  for (std::size_t k = 0; k < y.classes(); ++k) {
    const auto beta = parameters.subspan(k * width, width);
    const auto out = eta.subspan(k * piece_rows, count);
    for (std::size_t i = 0; i < count; ++i) out[i] = y.offset().empty() ? 0 : y.offset()[begin + i];
    for (std::size_t j = 0; j < width; ++j) {
      // The columns are centred, and the intercept is that of the columns as they were given.
      double factor = beta[j];
      if (j == 0)
        for (std::size_t m = 1; m < means.size(); ++m) factor += means[m] * beta[m];
      const float* column = panel.data() + j * piece_rows;
      for (std::size_t i = 0; i < count; ++i) out[i] += factor * static_cast<double>(column[i]);
    }
  }
}

/// Of row i, with its predictor, or those of the classes, at eta.
double RowLogLikelihood::row(std::size_t i, const double* eta, std::span<const double> numbers) const {
  const Observations& all = posterior_.observations();
  const double scale = numbers.empty() ? 1 : numbers[0];
  const double y = all.y(i);
  switch (all.family()) {
    case Family::gaussian: {
      const double z = (y - *eta) / scale;
      return -0.5 * z * z - std::log(scale);
    }
    case Family::bernoulli:
      return logit_row(*eta, y, 1 - y).value;
    case Family::binomial:
      return logit_row(*eta, y, all.trials(i) - y).value;
    case Family::probit:
      return probit_row(*eta, 2 * y - 1).value;
    case Family::cloglog:
      return cloglog_row(*eta, y).value;
    case Family::categorical:
      return eta[static_cast<std::size_t>(y) * piece_rows] - log_sum_exp(eta, all.classes());
    case Family::poisson:
      return y * *eta - std::exp(*eta);
    case Family::gamma: {
      const double t = *eta - std::log(y);
      return scale * (std::log(scale) - t - std::exp(-t)) - simd::lgamma(scale);
    }
    case Family::student_t: {
      const double nu = 1 + numbers[1];
      return simd::lgamma(0.5 * (nu + 1)) - simd::lgamma(0.5 * nu) - 0.5 * std::log(std::numbers::pi * nu) -
             std::log(scale) + student_row<false>(*eta, y, 1 / scale, 1 / nu, nu + 1).value;
    }
    case Family::ordinal: {
      const auto code = static_cast<std::size_t>(y) - 1;
      double above = 0, below = 0;
      for (std::size_t k = 0; k < std::min(code, numbers.size()); ++k) above += numbers[k];
      for (std::size_t k = 0; k + 1 < code; ++k) below += numbers[k];
      constexpr double far = 1e6;
      const bool first = code == 0, last = code == numbers.size() + 1;
      return ordinal_row(*eta, last ? far : above, first ? -far : below).value +
             (first || last ? 0 : std::log(-std::expm1(below - above)));
    }
    case Family::zero_inflated_poisson:
      return (y == 0 ? inflated_zero_row<false>(*eta, std::log(scale)).value : y * *eta - std::exp(*eta)) -
             std::log1p(scale);
    case Family::negative_binomial:
      return simd::lgamma(y + scale) - simd::lgamma(scale) +
             logit_row(*eta - std::log(scale), y, scale).value;
  }
  return 0;
}

void RowLogLikelihood::part(std::span<const double> parameters, std::size_t first,
                            std::span<double> out) const {
  const std::size_t coefficients = posterior_.reported_coefficients();
  part(parameters, parameters.subspan(coefficients), {}, first, out);
}

void RowLogLikelihood::part(std::span<const double> coefficients, std::span<const double> numbers,
                            const More& more, std::size_t first, std::span<double> out) const {
  const auto at = posterior_.from_reported(coefficients.first(posterior_.reported_coefficients()), numbers);
  const Observations& y = posterior_.observations();
  std::vector<float> panel(posterior_.design().columns() * piece_rows);
  std::vector<double> eta(y.classes() * piece_rows);
  const std::size_t last = first + out.size();
  for (std::size_t piece = first / piece_rows; piece * piece_rows < last; ++piece) {
    predict(piece, at.coefficients, panel, eta);
    const std::size_t begin = piece * piece_rows;
    if (more) more(begin, std::span(eta).first(std::min(piece_rows, rows() - begin)));
    for (std::size_t i = std::max(begin, first); i < std::min(begin + piece_rows, last); ++i)
      out[i - first] = y.weight(i) * (constants_[i] + row(i, &eta[i - begin], at.numbers));
  }
}

}  // namespace onward::glm
