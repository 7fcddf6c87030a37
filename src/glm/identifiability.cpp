#include "identifiability.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include "onward/error.hpp"

namespace onward::glm {
namespace {

bool is_constant(const Design& x, std::size_t j) {
  Floats values(padded_rows(x.rows()));
  x.column(j, values.data());
  return std::all_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(x.rows()),
                     [&](float v) { return v == values[0]; });
}

bool counts_without_end(Family family) {
  return family == Family::poisson || family == Family::negative_binomial ||
         family == Family::zero_inflated_poisson;
}

/// True if the row says something: it counts, and of a binomial there was a trial.
bool speaks(const Observations& y, std::size_t i) { return y.weight(i) > 0 && y.trials(i) > 0; }

/// Which way a row's predictor may go for ever without making its outcome less likely.
enum class Endless { nowhere, down, up };
Endless endless(const Observations& y, std::size_t i) {
  if (y.family() == Family::ordinal) {
    if (y.y(i) == 1) return Endless::down;
    return y.y(i) == static_cast<double>(y.categories()) ? Endless::up : Endless::nowhere;
  }
  if (y.y(i) == 0) return Endless::down;
  return !counts_without_end(y.family()) && y.y(i) == y.trials(i) ? Endless::up : Endless::nowhere;
}

/// True if the predictor tells every outcome right: then so does any multiple of it, and more surely.
bool tells_all(const Observations& y, const Floats& eta) {
  if (counts_without_end(y.family())) return false;
  // The cloglog link crosses probability 1/2 elsewhere than at 0, but separates by the same hyperplanes.
  const double threshold = y.family() == Family::cloglog ? std::log(std::log(2.0)) : 0.0;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    if (!speaks(y, i)) continue;
    const Endless way = endless(y, i);
    if (way == Endless::nowhere || (static_cast<double>(eta[i]) > threshold) != (way == Endless::up))
      return false;
  }
  return true;
}

/// True if no row's outcome becomes less likely however far predictors go along d, whose largest entry is
/// given.
bool goes_on_forever(const Observations& y, const Floats& d, double largest) {
  const double rounding = 1e-4 * largest;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    if (!speaks(y, i)) continue;
    const Endless way = endless(y, i);
    const double step = d[i];
    if ((step > rounding && way != Endless::up) || (step < -rounding && way != Endless::down)) return false;
  }
  return true;
}

/// The outcome that all rows have, if there is one.
std::optional<double> only_outcome(const Observations& y) {
  for (std::size_t i = 1; i < y.rows(); ++i)
    if (y.y(i) != y.y(0)) return {};
  return y.y(0);
}

/// True if no row says anything.
bool silent(const Observations& y) {
  for (std::size_t i = 0; i < y.rows(); ++i)
    if (speaks(y, i)) return false;
  return true;
}

std::string no_data(const Likelihood& likelihood) {
  const std::string found = fmt::format(
      "every row has {} 0: the data say nothing",
      likelihood.y.family() == Family::binomial ? "a weight or a number of trials of" : "a weight of");
  if (any_flat(likelihood.posterior)) throw Error(found + ", and a flat prior cannot be sampled");
  return found + ", and what is sampled is the prior.";
}

/// How far each column, as it was given, moves predictors when the coefficients move along a direction.
Eigen::VectorXd as_given(const RegressionPosterior& posterior, Eigen::VectorXd direction,
                         const Eigen::MatrixXd& gram) {
  Eigen::VectorXd squares = gram.diagonal();
  for (std::size_t j = 1; j < posterior.means().size(); ++j) {
    const double mean = posterior.means()[j];
    direction[0] -= mean * direction[index(j)];
    squares[index(j)] += mean * (2 * gram(0, index(j)) + mean * gram(0, 0));
  }
  return direction.cwiseAbs().cwiseProduct(squares.cwiseMax(0).cwiseSqrt());
}

struct EndlessDirection {
  Eigen::VectorXd direction;
  bool tells_all;
};

/// Goes on from the mode by Newton's method without the prior. Where the likelihood has a maximum, steps
/// become small; where it has none, they turn into a direction that is good for every row, which is checked
/// row by row: so there are no false alarms.
std::optional<EndlessDirection> endless_direction(Likelihood& likelihood, const SearchEnd& end) {
  constexpr int most_steps = 15;
  constexpr double small = 0.02, longest = 4;  // changes of a predictor
  std::vector<Eigen::Index> kept;
  for (std::size_t j = 0; j < likelihood.x.columns(); ++j)
    if (std::find(end.dependent.begin(), end.dependent.end(), j) == end.dependent.end())
      kept.push_back(index(j));
  const double ridge = likelihood.x.columns() > 256 ? 1e-6 : 1e-12;  // products of many columns are in float
  // Far out the residuals of floats are mere rounding.
  constexpr float far_out = 8;
  const bool far = std::any_of(likelihood.eta.begin(), likelihood.eta.end(),
                               [](float eta) { return std::abs(eta) > far_out; });
  Eigen::VectorXd beta = far && end.early.size() > 0 ? end.early : end.mode, gradient;
  Eigen::MatrixXd precision;
  Floats d(likelihood.eta.size());
  double value = likelihood.value(beta);
  for (int step = 0; step < most_steps; ++step) {
    likelihood.derivatives(beta, gradient, precision);
    if (tells_all(likelihood.y, likelihood.eta)) return EndlessDirection{beta, true};
    // In units in which every column has curvature 1: that of a separated one is next to nothing.
    const Eigen::VectorXd widths =
        precision.diagonal()(kept).unaryExpr([](double h) { return h > 0 ? 1 / std::sqrt(h) : 0.0; });
    Eigen::MatrixXd scaled = widths.asDiagonal() * precision(kept, kept) * widths.asDiagonal();
    scaled.diagonal().setConstant(1 + ridge);
    const Eigen::LLT<Eigen::MatrixXd> factor(scaled);
    if (factor.info() != Eigen::Success) return {};
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(beta.size());
    direction(kept) = widths.cwiseProduct(factor.solve(widths.cwiseProduct(gradient(kept))));
    if (!direction.allFinite()) return {};
    likelihood.x.multiply({direction.data(), likelihood.x.columns()}, d.data(), likelihood.pool);
    double largest = 0;
    for (std::size_t i = 0; i < likelihood.y.rows(); ++i)
      if (speaks(likelihood.y, i)) largest = std::max(largest, std::abs(static_cast<double>(d[i])));
    if (!(largest >= small)) return {};
    if (goes_on_forever(likelihood.y, d, largest)) return EndlessDirection{direction, false};
    double length = std::min(1.0, longest / largest), there = -INFINITY;
    const double least = value - 1e-9 * std::abs(value);
    for (int halving = 0; halving < 20 && !(there >= least); ++halving, length /= 2)
      there = likelihood.value(beta + length * direction);
    if (!(there >= least)) return {};
    beta += 2 * length * direction;  // halved once more since
    value = there;
  }
  return {};
}

}  // namespace

DependentColumns find_dependent_columns(const RegressionPosterior& posterior, const Eigen::MatrixXd& gram) {
  const Design& x = posterior.design();
  // What is left of each column after those before it, as a share of its own length.
  // Products of many columns are in float, and what they leave of a dependent column is rounding.
  const double least_share = gram.rows() > 256 ? 1e-5 : 1e-10;
  DependentColumns dependent;
  std::vector<std::string>& found = dependent.sentences;
  Eigen::MatrixXd rest = gram;
  const Eigen::Index n = gram.rows();
  for (Eigen::Index j = 0; j < n; ++j) {
    const auto column = static_cast<std::size_t>(j);
    const std::string name = posterior.column_name(column);
    const auto is_constant_too = [&] {
      return fmt::format("{} is constant, as the intercept is: their sum alone is determined.", name);
    };
    if (gram(j, j) == 0) {
      const bool centred = !posterior.means().empty() && posterior.means()[column] != 0;
      found.push_back(
          centred ? is_constant_too()
                  : fmt::format("{} is 0 in every row: the data say nothing of its coefficient.", name));
      dependent.columns.push_back(column);
      rest(j, j) = 0;
      continue;
    }
    if (rest(j, j) <= least_share * gram(j, j)) {
      const bool constant = x.has_intercept() && j > 0 &&
                            gram(0, j) * gram(0, j) >= (1 - least_share) * gram(0, 0) * gram(j, j);
      dependent.columns.push_back(column);
      // Far from 0 beside its spread, but no constant: of that nothing can be said from these sums.
      if (constant && !is_constant(x, column)) continue;
      found.push_back(constant
                          ? is_constant_too()
                          : fmt::format("{} is a linear combination of columns before it (collinear): their "
                                        "coefficients are not determined one by one.",
                                        name));
      continue;
    }
    for (Eigen::Index k = j + 1; k < n; ++k) {
      const double factor = rest(k, j) / rest(j, j);
      if (factor == 0) continue;
      for (Eigen::Index i = k; i < n; ++i) rest(i, k) -= factor * rest(i, j);
    }
  }
  constexpr std::size_t shown = 5;
  if (found.size() > shown) {
    const std::size_t more = found.size() - shown;
    found.resize(shown);
    found.push_back(fmt::format("{} more columns are constant or linear combinations of others.", more));
  }
  return dependent;
}

bool any_flat(const RegressionPosterior& posterior) {
  return std::any_of(posterior.priors().begin(), posterior.priors().end(),
                     [](const Prior& p) { return p.kind == Prior::Kind::flat; });
}

std::optional<std::string> exact_fit(Likelihood& likelihood, const SearchEnd& end) {
  if (!likelihood.posterior.samples_numbers()) return {};
  likelihood.predict(end.mode);
  const bool logs = likelihood.y.family() == Family::gamma;  // whose predictor is of the log of y
  double squares = 0, residuals = 0;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < likelihood.y.rows(); ++i) {
    if (!speaks(likelihood.y, i)) continue;
    ++rows;
    const double y = logs ? std::log(likelihood.y.y(i)) : likelihood.y.y(i);
    squares += likelihood.y.weight(i) * (y * y + (logs ? 1 : 0));
    residuals += likelihood.y.weight(i) * std::pow(y - static_cast<double>(likelihood.eta[i]), 2);
  }
  constexpr double rounding = 1e-6;  // of floats, and of sums of some
  if (rows <= likelihood.x.columns() - end.dependent.size() || residuals > rounding * rounding * squares)
    return {};
  const std::string found = only_outcome(likelihood.y)
                                ? fmt::format("every y is {}", likelihood.y.y(0))
                                : std::string("y is fitted exactly, as far as floats can tell");
  if (logs)
    return found +
           ": the shape has no finite estimate, and how large it is is decided by the prior. Check y, or "
           "give "
           "the shape itself (`shape`).";
  // No prior on offer holds it: all are finite at 0.
  if (likelihood.posterior.number_prior(0).kind == Prior::Kind::flat || any_flat(likelihood.posterior))
    throw Error(found +
                ": the posterior grows without bound as sigma goes to 0, and cannot be normalised. Check y, "
                "or give sigma itself (`sigma`)");
  return found +
         ": sigma has no positive estimate, and the posterior grows without bound as it goes to 0. What is "
         "sampled of sigma is rounding: check y, or give sigma itself (`sigma`).";
}

std::optional<std::string> separation(Likelihood& likelihood, const SearchEnd& end,
                                      const Eigen::MatrixXd& gram) {
  if (silent(likelihood.y)) return no_data(likelihood);
  const bool all_at_mode = tells_all(likelihood.y, likelihood.eta);
  const auto found = all_at_mode ? std::nullopt : endless_direction(likelihood, end);
  if (!all_at_mode && !found) return {};
  const bool all = all_at_mode || found->tells_all;
  // How much each column has to do with it.
  Eigen::VectorXd shares = Eigen::VectorXd::Ones(end.mode.size());
  if (!all) shares = as_given(likelihood.posterior, found->direction, gram);
  shares /= shares.sum();
  double flat = 0;
  for (std::size_t j = 0; j < likelihood.x.columns(); ++j)
    if (likelihood.posterior.priors()[j].kind == Prior::Kind::flat) flat += shares[index(j)];
  if (flat > 1e-3) throw_diverged(likelihood);
  if (const auto y = only_outcome(likelihood.y); y && likelihood.y.family() != Family::binomial)
    return fmt::format(
        "every y is {}: the likelihood has no maximum, and how far the predictor is from 0 is decided by "
        "the prior.",
        *y);
  if (all)
    return "A linear combination of the columns tells the outcomes apart without error (separable data): "
           "the likelihood has no maximum, and how large the coefficients are is decided by the prior.";
  Eigen::Index most = 0;
  const bool one = shares.maxCoeff(&most) > 0.95;
  return fmt::format(
      "{} tells some of the outcomes without error (quasi-separable data): the likelihood has no maximum, "
      "and how large {} is decided by the prior.",
      one ? likelihood.posterior.column_name(static_cast<std::size_t>(most))
          : "A linear combination of the columns",
      one ? "its coefficient is" : "its coefficients are");
}

void throw_diverged(const Likelihood& likelihood) {
  if (silent(likelihood.y)) throw Error(no_data(likelihood));
  if (!any_flat(likelihood.posterior))
    throw Error(fmt::format(
        "the mode of the {} regression has predictors beyond the range of floats: the columns of X "
        "have entries too large for the priors of their coefficients. Scale the columns, to a "
        "standard deviation of 1, say",
        to_string(likelihood.y.family())));
  throw Error(fmt::format(
      "the {} likelihood has no maximum that can be found (separable data, a column that is not 0 "
      "for one outcome only, or columns with entries too large for floats), and the prior is "
      "flat: give the coefficients a normal prior, and scale columns with very large entries",
      to_string(likelihood.y.family())));
}

}  // namespace onward::glm
