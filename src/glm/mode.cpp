#include "onward/glm/mode.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include "onward/error.hpp"

namespace onward::glm {
namespace {

constexpr std::size_t most_iterations = 200;

std::string column_name(const Design& x, std::size_t j) {
  if (x.has_intercept()) return j == 0 ? "the intercept" : fmt::format("column {}", j);
  return fmt::format("column {}", j + 1);
}

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

bool two_outcomes(Family family) {
  return family == Family::bernoulli || family == Family::probit || family == Family::cloglog;
}

/// True if the predictor tells every outcome right: then so does any multiple of it, and more surely.
bool tells_all(const Observations& y, const Floats& eta) {
  // The cloglog link crosses probability 1/2 elsewhere than at 0, but separates by the same hyperplanes.
  const double threshold = y.family() == Family::cloglog ? std::log(std::log(2.0)) : 0.0;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    if (y.weight(i) == 0) continue;
    if ((static_cast<double>(eta[i]) > threshold) != (y.y(i) > 0.5)) return false;
  }
  return true;
}

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
    if (posterior.samples_scale()) update_scale(beta_);
  }

  Mode run() {
    Mode mode;
    const Eigen::MatrixXd gram = x_.gram(nullptr, pool_);
    mode.warnings = dependent_columns(x_, gram);
    const bool any_flat = std::any_of(posterior_.priors().begin(), posterior_.priors().end(),
                                      [](const Prior& p) { return p.kind == Prior::Kind::flat; });
    if (any_flat && !mode.warnings.empty())
      throw Error(mode.warnings.front() +
                  " Under a flat prior the posterior cannot be normalised: drop the column, "
                  "or give the coefficients a normal prior");
    double value = log_density(beta_);
    if (!std::isfinite(value))
      throw Error(
          "the log density is not finite at the start of the search for the mode: standardise the columns "
          "and the offset");
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
      double length = 1, there = -INFINITY;
      for (int halving = 0; halving < 40; ++halving, length /= 2) {
        there = log_density(beta_ + length * step);
        if (there >= value - 1e-9 * std::abs(value)) break;
      }
      if (!(there >= value - 1e-9 * std::abs(value))) break;  // no way up: as good as floats allow
      beta_ += length * step;
      const double scale_before = scale_;
      if (posterior_.samples_scale()) update_scale(beta_);
      value = log_density(beta_);
      if (any_flat) check_divergence();
      converged = gain < 1e-5 && std::abs(std::log(scale_ / scale_before)) < 1e-4;
    }
    Eigen::VectorXd gradient;
    derivatives(beta_, gradient, mode.precision);
    if (two_outcomes(y_.family()) && tells_all(y_, eta_)) {
      if (any_flat) diverged();
      mode.warnings.emplace_back(
          "A linear combination of the columns tells the outcomes apart without error (separable data): the "
          "likelihood has no maximum, and how large the coefficients are is decided by the prior.");
    }
    mode.coefficients.assign(beta_.begin(), beta_.end());
    mode.scale = scale_;
    return mode;
  }

 private:
  static Eigen::Index index(std::size_t j) { return static_cast<Eigen::Index>(j); }

  [[noreturn]] void diverged() const {
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

  double log_density(const Eigen::VectorXd& beta) {
    predict(beta);
    double value = y_.sums({.eta = eta_.data(), .scale = scale_}, pool_).value + y_.constant(scale_);
    for (std::size_t j = 0; j < x_.columns(); ++j) value += posterior_.priors()[j].at(beta[index(j)]).value;
    return value;
  }

  void derivatives(const Eigen::VectorXd& beta, Eigen::VectorXd& gradient, Eigen::MatrixXd& precision) {
    predict(beta);
    y_.row_slopes(eta_.data(), scale_, residuals_.data(), weights_.data(), pool_);
    gradient.resize(beta.size());
    x_.multiply_transposed(residuals_.data(), 1, {gradient.data(), x_.columns()}, pool_);
    precision = x_.gram(weights_.data(), pool_);
    for (std::size_t j = 0; j < x_.columns(); ++j) {
      const Prior& prior = posterior_.priors()[j];
      gradient[index(j)] += prior.at(beta[index(j)]).slope;
      precision(index(j), index(j)) += prior.precision();
    }
  }

  /// The best scale for these coefficients, its prior included.
  void update_scale(const Eigen::VectorXd& beta) {
    predict(beta);
    double log_scale = std::log(scale_);
    double squares = 0;
    if (y_.family() == Family::gaussian) {
      squares = -2 * y_.sums({.eta = eta_.data()}, pool_).value;
      log_scale = 0.5 * std::log(std::max(squares / std::max(y_.total_weight(), 1.0), 1e-30));
    }
    for (int iteration = 0; iteration < 50; ++iteration) {
      Jet jet = y_.family() == Family::gaussian ? y_.sigma_jet(squares, log_scale)
                                                : y_.dispersion_jet(eta_.data(), log_scale, pool_);
      const Jet prior = posterior_.options().scale.at_log(log_scale);
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
  double scale_ = 1;
  Floats eta_, residuals_, weights_;
};

}  // namespace

std::vector<std::string> dependent_columns(const Design& x, const Eigen::MatrixXd& gram) {
  // What is left of each column after those before it, as a share of its own length.
  // Products of many columns are in float, and what they leave of a dependent column is rounding.
  const double least_share = gram.rows() > 256 ? 1e-5 : 1e-10;
  std::vector<std::string> found;
  Eigen::MatrixXd rest = gram;
  const Eigen::Index n = gram.rows();
  for (Eigen::Index j = 0; j < n; ++j) {
    const auto column = static_cast<std::size_t>(j);
    if (gram(j, j) == 0) {
      found.push_back(fmt::format("{} is 0 in every row: the data say nothing of its coefficient.",
                                  column_name(x, column)));
      rest(j, j) = 0;
      continue;
    }
    if (rest(j, j) <= least_share * gram(j, j)) {
      const bool constant = x.has_intercept() && j > 0 &&
                            gram(0, j) * gram(0, j) >= (1 - least_share) * gram(0, 0) * gram(j, j);
      found.push_back(constant
                          ? fmt::format("{} is constant, as the intercept is: their sum alone is determined.",
                                        column_name(x, column))
                          : fmt::format("{} is a linear combination of columns before it (collinear): their "
                                        "coefficients are not determined one by one.",
                                        column_name(x, column)));
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
  return found;
}

std::vector<std::string> data_warnings(const Posterior& posterior, ThreadPool& pool) {
  if (posterior.observations().classes() == 1) return find_mode(posterior, pool).warnings;
  return dependent_columns(posterior.design(), posterior.design().gram(nullptr, pool));
}

Mode find_mode(const Posterior& posterior, ThreadPool& pool) { return Newton(posterior, pool).run(); }

}  // namespace onward::glm
