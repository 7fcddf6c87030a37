#include "onward/glm/mode.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include "onward/error.hpp"

namespace onward::glm {
namespace {

constexpr std::size_t most_iterations = 200;

/// A start for the intercept: the predictor that gives the mean of y.
double start_of_intercept(const Observations& y) {
  double sum = 0, trials = 0;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    sum += y.weighted_y(i);
    trials += y.weight(i) * y.trials(i);
  }
  if (trials == 0) return 0;
  const double mean = sum / trials, p = std::clamp(mean, 0.001, 0.999);
  switch (y.family()) {
    case Family::gaussian:
      return mean;
    case Family::bernoulli:
    case Family::binomial:
      return std::log(p / (1 - p));
    case Family::probit:
      return (p - 0.5) * 2.5;
    case Family::cloglog:
      return std::log(-std::log1p(-p));
    case Family::poisson:
    case Family::negative_binomial:
      return std::log(std::max(mean, 1e-3));
    case Family::categorical:
      break;
  }
  return 0;
}

bool counts_without_end(Family family) {
  return family == Family::poisson || family == Family::negative_binomial;
}

/// True if the row says something: it counts, and of a binomial there was a trial.
bool speaks(const Observations& y, std::size_t i) { return y.weight(i) > 0 && y.trials(i) > 0; }

/// Which way a row's predictor may go for ever without making its outcome less likely.
enum class Endless { nowhere, down, up };
Endless endless(const Observations& y, std::size_t i) {
  if (y.y(i) == 0) return Endless::down;
  return !counts_without_end(y.family()) && y.y(i) == y.trials(i) ? Endless::up : Endless::nowhere;
}

/// True if the predictor tells every outcome right: then so does any multiple of it, and more surely.
bool tells_all(const Observations& y, const Floats& eta) {
  if (counts_without_end(y.family()) || y.family() == Family::gaussian) return false;
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

/// Columns of which those before them leave nothing, and sentences about them.
struct Dependent {
  std::vector<std::size_t> columns;
  std::vector<std::string> sentences;
};
Dependent find_dependent(const Posterior& posterior, const Eigen::MatrixXd& gram);

class Newton {
 public:
  Newton(const Posterior& posterior, ThreadPool& pool)
      : posterior_(posterior),
        x_(posterior.design()),
        y_(posterior.observations()),
        pool_(pool),
        beta_(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(x_.columns()))),
        eta_(padded_rows(y_.rows())),
        residuals_(eta_.size()),
        weights_(eta_.size()) {
    if (posterior.options().known_scale) scale_ = *posterior.options().known_scale;
    for (std::size_t j = 0; j < x_.columns(); ++j) beta_[index(j)] = posterior.priors()[j].location;
    if (x_.has_intercept()) beta_[0] = start_of_intercept(y_);
    if (posterior.samples_scale()) update_scale(beta_, 0);
  }

  Mode run() {
    Mode mode;
    const Eigen::MatrixXd gram = x_.gram(nullptr, pool_);
    const Dependent dependent = find_dependent(posterior_, gram);
    mode.warnings = dependent.sentences;
    const bool any_flat = std::any_of(posterior_.priors().begin(), posterior_.priors().end(),
                                      [](const Prior& p) { return p.kind == Prior::Kind::flat; });
    if (any_flat && !mode.warnings.empty())
      throw Error(mode.warnings.front() +
                  " Under a flat prior the posterior cannot be normalised: drop the column, "
                  "or give the coefficients a normal prior");
    double value = log_density(beta_);
    if (!std::isfinite(value))
      throw Error(
          "the log density is not finite at the start of the search for the mode: standardise the columns, "
          "and see that the offset is on the scale of the predictor (of exposures it is the logarithm)");
    bool converged = false;
    for (; mode.iterations < most_iterations && !converged; ++mode.iterations) {
      Eigen::VectorXd gradient;
      derivatives(beta_, gradient, mode.precision);
      const Eigen::LLT<Eigen::MatrixXd> factor(mode.precision);
      if (factor.info() != Eigen::Success) {
        if (any_flat) diverged();
        mode.precision.diagonal().array() += 1e-6 * mode.precision.diagonal().maxCoeff();
      }
      const Eigen::VectorXd step = mode.precision.llt().solve(gradient);
      const double gain = gradient.dot(step);  // twice what a quadratic would gain
      if (!std::isfinite(gain)) diverged();
      if (gain < 1 && early_.size() == 0) early_ = beta_;
      double length = 1, there = -INFINITY;
      for (int halving = 0; halving < 40; ++halving, length /= 2) {
        there = log_density(beta_ + length * step);
        if (there >= value - 1e-9 * std::abs(value)) break;
      }
      if (!(there >= value - 1e-9 * std::abs(value))) break;  // no way up: as good as floats allow
      beta_ += length * step;
      const double scale_before = scale_;
      if (posterior_.samples_scale()) update_scale(beta_, expected_squares(mode.precision));
      value = log_density(beta_);
      if (any_flat) check_divergence();
      converged = gain < 1e-5 && std::abs(std::log(scale_ / scale_before)) < 1e-4;
    }
    Eigen::VectorXd gradient;
    derivatives(beta_, gradient, mode.precision);
    const auto note = y_.family() == Family::gaussian ? exact_fit(x_.columns() - dependent.columns.size())
                                                      : separation(gram, dependent.columns);
    if (note) mode.warnings.push_back(*note);
    mode.coefficients.assign(beta_.begin(), beta_.end());
    mode.scale = scale_;
    return mode;
  }

 private:
  static Eigen::Index index(std::size_t j) { return static_cast<Eigen::Index>(j); }

  bool is_flat(std::size_t j) const { return posterior_.priors()[j].kind == Prior::Kind::flat; }

  /// A sentence if y is fitted exactly by fewer coefficients than rows; throws if nothing else holds sigma.
  /// No prior on offer does: all are finite at 0.
  std::optional<std::string> exact_fit(std::size_t rank) {
    if (!posterior_.samples_scale()) return {};
    predict(beta_);
    double squares = 0, residuals = 0;
    std::size_t rows = 0;
    for (std::size_t i = 0; i < y_.rows(); ++i) {
      if (!speaks(y_, i)) continue;
      ++rows;
      squares += y_.weight(i) * y_.y(i) * y_.y(i);
      residuals += y_.weight(i) * std::pow(y_.y(i) - static_cast<double>(eta_[i]), 2);
    }
    constexpr double rounding = 1e-6;  // of floats, and of sums of some
    if (rows <= rank || residuals > rounding * rounding * squares) return {};
    const std::string found = only_outcome(y_)
                                  ? fmt::format("every y is {}", y_.y(0))
                                  : std::string("y is fitted exactly, as far as floats can tell");
    bool flat = posterior_.scale_prior().kind == Prior::Kind::flat;
    for (std::size_t j = 0; j < x_.columns(); ++j) flat = flat || is_flat(j);
    if (flat)
      throw Error(
          found +
          ": the posterior grows without bound as sigma goes to 0, and cannot be normalised. Check y, "
          "or give sigma itself (`sigma`)");
    return found +
           ": sigma has no positive estimate, and the posterior grows without bound as it goes to 0. What is "
           "sampled of sigma is rounding: check y, or give sigma itself (`sigma`).";
  }

  /// A sentence if the likelihood grows for ever along a direction; throws if there the prior is flat.
  std::optional<std::string> separation(const Eigen::MatrixXd& gram,
                                        const std::vector<std::size_t>& dependent) {
    if (silent()) return no_data();
    const bool all_at_mode = tells_all(y_, eta_);
    const auto found = all_at_mode ? std::nullopt : endless_direction(dependent);
    if (!all_at_mode && !found) return {};
    const bool all = all_at_mode || found->tells_all;
    // How much each column has to do with it.
    Eigen::VectorXd shares = Eigen::VectorXd::Ones(beta_.size());
    if (!all) shares = as_given(found->direction, gram);
    shares /= shares.sum();
    double flat = 0;
    for (std::size_t j = 0; j < x_.columns(); ++j)
      if (is_flat(j)) flat += shares[index(j)];
    if (flat > 1e-3) diverged();
    if (const auto y = only_outcome(y_); y && y_.family() != Family::binomial)
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
        one ? posterior_.column_name(static_cast<std::size_t>(most)) : "A linear combination of the columns",
        one ? "its coefficient is" : "its coefficients are");
  }

  /// How far each column, as it was given, moves predictors when the coefficients move along a direction.
  Eigen::VectorXd as_given(Eigen::VectorXd direction, const Eigen::MatrixXd& gram) const {
    Eigen::VectorXd squares = gram.diagonal();
    for (std::size_t j = 1; j < posterior_.means().size(); ++j) {
      const double mean = posterior_.means()[j];
      direction[0] -= mean * direction[index(j)];
      squares[index(j)] += mean * (2 * gram(0, index(j)) + mean * gram(0, 0));
    }
    return direction.cwiseAbs().cwiseProduct(squares.cwiseMax(0).cwiseSqrt());
  }

  bool silent() const {
    for (std::size_t i = 0; i < y_.rows(); ++i)
      if (speaks(y_, i)) return false;
    return true;
  }

  std::string no_data() const {
    const std::string found =
        fmt::format("every row has {} 0: the data say nothing",
                    y_.family() == Family::binomial ? "a weight or a number of trials of" : "a weight of");
    for (std::size_t j = 0; j < x_.columns(); ++j)
      if (is_flat(j)) throw Error(found + ", and a flat prior cannot be sampled");
    return found + ", and what is sampled is the prior.";
  }

  struct EndlessDirection {
    Eigen::VectorXd direction;
    bool tells_all;
  };

  /// Goes on from the mode by Newton's method without the prior. Where the likelihood has a maximum, steps
  /// become small; where it has none, they turn into a direction that is good for every row, which is checked
  /// row by row: so there are no false alarms.
  std::optional<EndlessDirection> endless_direction(const std::vector<std::size_t>& dependent) {
    constexpr int most_steps = 15;
    constexpr double small = 0.02, longest = 4;  // changes of a predictor
    std::vector<Eigen::Index> kept;
    for (std::size_t j = 0; j < x_.columns(); ++j)
      if (std::find(dependent.begin(), dependent.end(), j) == dependent.end()) kept.push_back(index(j));
    const double ridge = x_.columns() > 256 ? 1e-6 : 1e-12;  // products of many columns are in float
    // Far out the residuals of floats are mere rounding.
    constexpr float far_out = 8;
    const bool far = std::any_of(eta_.begin(), eta_.end(), [](float eta) { return std::abs(eta) > far_out; });
    Eigen::VectorXd beta = far && early_.size() > 0 ? early_ : beta_, gradient;
    Eigen::MatrixXd precision;
    Floats d(eta_.size());
    double value = log_likelihood(beta);
    for (int step = 0; step < most_steps; ++step) {
      rows_derivatives(beta, gradient, precision);
      if (tells_all(y_, eta_)) return EndlessDirection{beta, true};
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
      x_.multiply({direction.data(), x_.columns()}, d.data(), pool_);
      double largest = 0;
      for (std::size_t i = 0; i < y_.rows(); ++i)
        if (speaks(y_, i)) largest = std::max(largest, std::abs(static_cast<double>(d[i])));
      if (!(largest >= small)) return {};
      if (goes_on_forever(y_, d, largest)) return EndlessDirection{direction, false};
      double length = std::min(1.0, longest / largest), there = -INFINITY;
      const double least = value - 1e-9 * std::abs(value);
      for (int halving = 0; halving < 20 && !(there >= least); ++halving, length /= 2)
        there = log_likelihood(beta + length * direction);
      if (!(there >= least)) return {};
      beta += 2 * length * direction;  // halved once more since
      value = there;
    }
    return {};
  }

  [[noreturn]] void diverged() const {
    if (silent()) throw Error(no_data());
    bool flat = false;
    for (std::size_t j = 0; j < x_.columns(); ++j) flat = flat || is_flat(j);
    if (!flat)
      throw Error(fmt::format(
          "the mode of the {} regression has predictors beyond the range of floats: the columns of X "
          "have entries too large for the priors of their coefficients. Scale the columns, to a "
          "standard deviation of 1, say",
          to_string(y_.family())));
    throw Error(
        fmt::format("the {} likelihood has no maximum (separable data, or a column that is not 0 for one "
                    "outcome only), and the "
                    "prior is flat: give the coefficients a normal prior",
                    to_string(y_.family())));
  }

  /// Far beyond any predictor that data could call for.
  void check_divergence() const {
    if (y_.family() == Family::gaussian) return;
    for (std::size_t i = 0; i < y_.rows(); ++i)
      if (y_.weight(i) > 0 && std::abs(eta_[i]) > 60) diverged();
  }

  void predict(const Eigen::VectorXd& beta) {
    x_.multiply({beta.data(), static_cast<std::size_t>(beta.size())}, eta_.data(), pool_);
    for (std::size_t i = 0; i < y_.offset().size(); ++i) eta_[i] += y_.offset()[i];
  }

  double log_likelihood(const Eigen::VectorXd& beta) {
    predict(beta);
    return y_.sums({.eta = eta_.data(), .scale = scale_}, pool_).value + y_.constant(scale_);
  }

  double log_density(const Eigen::VectorXd& beta) {
    double value = log_likelihood(beta);
    for (std::size_t j = 0; j < x_.columns(); ++j) value += posterior_.priors()[j].at(beta[index(j)]).value;
    return value;
  }

  /// Of the log likelihood alone.
  void rows_derivatives(const Eigen::VectorXd& beta, Eigen::VectorXd& gradient, Eigen::MatrixXd& precision) {
    predict(beta);
    y_.row_slopes(eta_.data(), scale_, residuals_.data(), weights_.data(), pool_);
    gradient.resize(beta.size());
    x_.multiply_transposed(residuals_.data(), 1, {gradient.data(), x_.columns()}, pool_);
    precision = x_.gram(weights_.data(), pool_);
  }

  void derivatives(const Eigen::VectorXd& beta, Eigen::VectorXd& gradient, Eigen::MatrixXd& precision) {
    rows_derivatives(beta, gradient, precision);
    for (std::size_t j = 0; j < x_.columns(); ++j) {
      const Prior& prior = posterior_.priors()[j];
      gradient[index(j)] += prior.at(beta[index(j)]).slope;
      precision(index(j), index(j)) += prior.precision();
    }
  }

  /// Gaussian: what the coefficients' spread about the mode adds to the sum of squares on average. Without it
  /// the scale would be that of the joint mode, which is too small, and 0 if there are as many columns as
  /// rows.
  double expected_squares(const Eigen::MatrixXd& precision) const {
    if (y_.family() != Family::gaussian) return 0;
    const Eigen::MatrixXd covariance =
        precision.llt().solve(Eigen::MatrixXd::Identity(precision.rows(), precision.cols()));
    double held_by_priors = 0;
    for (std::size_t j = 0; j < x_.columns(); ++j)
      held_by_priors += posterior_.priors()[j].precision() * covariance(index(j), index(j));
    const double told = static_cast<double>(x_.columns()) - held_by_priors;
    return std::isfinite(told) ? std::max(told, 0.0) * scale_ * scale_ : 0.0;
  }

  /// The best scale for these coefficients, its prior included.
  void update_scale(const Eigen::VectorXd& beta, double more_squares) {
    predict(beta);
    double log_scale = std::log(scale_);
    double squares = 0;
    if (y_.family() == Family::gaussian) {
      squares = -2 * y_.sums({.eta = eta_.data()}, pool_).value + more_squares;
      log_scale = 0.5 * std::log(std::max(squares / std::max(y_.total_weight(), 1.0), 1e-30));
    }
    for (int iteration = 0; iteration < 50; ++iteration) {
      Jet jet = y_.family() == Family::gaussian ? y_.sigma_jet(squares, log_scale)
                                                : y_.dispersion_jet(eta_.data(), log_scale, pool_);
      const Jet prior = posterior_.scale_prior().at_log(log_scale);
      const double slope = jet.slope + prior.slope,
                   h = std::max(-(jet.curvature + prior.curvature), 0.1 * std::abs(slope));
      const double step = h > 0 ? std::clamp(slope / h, -1.0, 1.0) : 0.0;
      log_scale = std::clamp(log_scale + step, -30.0, 30.0);
      if (std::abs(step) < 1e-6) break;
    }
    scale_ = std::exp(log_scale);
  }

  const Posterior& posterior_;
  const Design& x_;
  const Observations& y_;
  ThreadPool& pool_;
  Eigen::VectorXd beta_;
  Eigen::VectorXd early_;  // where the search came near the mode for the first time
  double scale_ = 1;
  Floats eta_, residuals_, weights_;
};

bool is_constant(const Design& x, std::size_t j) {
  Floats values(padded_rows(x.rows()));
  x.column(j, values.data());
  return std::all_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(x.rows()),
                     [&](float v) { return v == values[0]; });
}

Dependent find_dependent(const Posterior& posterior, const Eigen::MatrixXd& gram) {
  const Design& x = posterior.design();
  // What is left of each column after those before it, as a share of its own length.
  // Products of many columns are in float, and what they leave of a dependent column is rounding.
  const double least_share = gram.rows() > 256 ? 1e-5 : 1e-10;
  Dependent dependent;
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

}  // namespace

std::vector<std::string> dependent_columns(const Posterior& posterior, const Eigen::MatrixXd& gram) {
  return find_dependent(posterior, gram).sentences;
}

std::vector<std::string> data_warnings(const Posterior& posterior, ThreadPool& pool) {
  const Observations& y = posterior.observations();
  if (y.classes() == 1) return find_mode(posterior, pool).warnings;
  for (const Prior& prior : posterior.priors())
    if (prior.kind == Prior::Kind::flat)
      throw Error(
          "under a flat prior the posterior of the categorical family cannot be normalised: adding the same "
          "to the coefficients of every class changes no probability. Give the coefficients and the "
          "intercept a normal prior");
  std::vector<std::string> found = dependent_columns(posterior, posterior.design().gram(nullptr, pool));
  std::vector<char> seen(y.classes(), 0);
  for (std::size_t i = 0; i < y.rows(); ++i)
    if (y.weight(i) > 0) seen[static_cast<std::size_t>(y.y(i))] = 1;
  std::vector<std::size_t> missing;
  for (std::size_t k = 0; k < seen.size(); ++k)
    if (!seen[k]) missing.push_back(k);
  if (missing.size() == 1)
    found.push_back(fmt::format(
        "no row has class {}: how large its coefficients are is decided by the prior. Are classes counted "
        "from 0?",
        missing[0]));
  if (missing.size() > 1)
    found.push_back(
        fmt::format("no row has class {}, and {} more of the {} classes have none: how large their "
                    "coefficients are is decided by the prior.",
                    missing[0], missing.size() - 1, seen.size()));
  return found;
}

Mode find_mode(const Posterior& posterior, ThreadPool& pool) { return Newton(posterior, pool).run(); }

}  // namespace onward::glm
