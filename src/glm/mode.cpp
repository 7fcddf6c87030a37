#include "onward/glm/mode.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include "identifiability.hpp"
#include "onward/error.hpp"

namespace onward::glm {
namespace {

constexpr std::size_t most_iterations = 200;

/// A start for the intercept: the predictor that gives the mean of y.
double start_of_intercept(const Observations& y) {
  double sum = 0, trials = 0;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    sum += y.weight(i) * y.y(i);
    trials += y.weight(i) * y.trials(i);
  }
  if (trials == 0) return 0;
  const double mean = sum / trials, p = std::clamp(mean, 0.001, 0.999);
  switch (y.family()) {
    case Family::gaussian:
      return mean;
    case Family::student_t:
      return DefaultPriors(y, {}).intercept().location;
    case Family::ordinal: {
      double first = 0;
      for (std::size_t i = 0; i < y.rows(); ++i) first += y.y(i) == 1 ? y.weight(i) : 0;
      const double share = std::clamp(first / y.total_weight(), 0.001, 0.999);
      return std::log((1 - share) / share);
    }
    case Family::bernoulli:
    case Family::binomial:
      return std::log(p / (1 - p));
    case Family::probit:
      return (p - 0.5) * 2.5;
    case Family::cloglog:
      return std::log(-std::log1p(-p));
    case Family::poisson:
    case Family::zero_inflated_poisson:
    case Family::negative_binomial:
      return std::log(std::max(mean, 1e-3));
    case Family::gamma:
      return std::log(mean);
    case Family::categorical:
      break;
  }
  return 0;
}

/// Starts for the numbers of a family that are not found in one go.
void start_numbers(const RegressionPosterior& posterior, FamilyNumbers& numbers) {
  const Observations& y = posterior.observations();
  std::vector<double> starts;
  if (y.family() == Family::student_t) starts = {DefaultPriors(y, {}).unit(), 4};
  if (y.family() == Family::zero_inflated_poisson) starts = {0.3};
  if (y.family() == Family::ordinal) {
    std::vector<double> below(y.categories(), 0.5);  // half a row more for each class
    for (std::size_t i = 0; i < y.rows(); ++i) below[static_cast<std::size_t>(y.y(i)) - 1] += y.weight(i);
    for (std::size_t k = 1; k < below.size(); ++k) below[k] += below[k - 1];
    const auto threshold = [&](std::size_t k) { return std::log(below[k] / (below.back() - below[k])); };
    for (std::size_t k = 1; k + 1 < below.size(); ++k)
      starts.push_back(std::max(threshold(k) - threshold(k - 1), 1e-3));
  }
  for (const std::size_t i : posterior.sampled_numbers())
    if (i < starts.size()) numbers.set_log(i, std::log(starts[i]));
}

class Newton {
 public:
  Newton(const RegressionPosterior& posterior, ThreadPool& pool)
      : likelihood_(posterior, pool), beta_(index(likelihood_.x.columns())) {
    for (std::size_t j = 0; j < likelihood_.x.columns(); ++j)
      beta_[index(j)] = posterior.priors()[j].location;
    if (likelihood_.x.has_intercept()) beta_[0] = start_of_intercept(likelihood_.y);
    start_numbers(posterior, likelihood_.numbers);
    if (posterior.samples_numbers()) update_numbers(beta_, 0);
  }

  Mode run() {
    Mode mode;
    const Eigen::MatrixXd gram = likelihood_.x.gram(nullptr, likelihood_.pool);
    const auto [dependent, sentences] = find_dependent_columns(likelihood_.posterior, gram);
    mode.warnings = sentences;
    const bool flat = any_flat(likelihood_.posterior);
    if (flat && !mode.warnings.empty())
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
        if (flat) throw_diverged(likelihood_);
        mode.precision.diagonal().array() += 1e-6 * mode.precision.diagonal().maxCoeff();
      }
      const Eigen::VectorXd step = mode.precision.llt().solve(gradient);
      const double gain = gradient.dot(step);  // twice what a quadratic would gain
      if (!std::isfinite(gain)) throw_diverged(likelihood_);
      if (gain < 1 && early_.size() == 0) early_ = beta_;
      double length = 1, there = -INFINITY;
      for (int halving = 0; halving < 40; ++halving, length /= 2) {
        there = log_density(beta_ + length * step);
        if (there >= value - 1e-9 * std::abs(value)) break;
      }
      if (!(there >= value - 1e-9 * std::abs(value))) break;  // no way up: as good as floats allow
      beta_ += length * step;
      const FamilyNumbers before = likelihood_.numbers;
      if (likelihood_.posterior.samples_numbers()) update_numbers(beta_, expected_squares(mode.precision));
      value = log_density(beta_);
      if (flat) check_divergence();
      converged = gain < 1e-5;
      for (std::size_t i = 0; i < before.size(); ++i)
        converged =
            converged && std::abs(std::log(likelihood_.numbers.values()[i] / before.values()[i])) < 1e-4;
    }
    Eigen::VectorXd gradient;
    derivatives(beta_, gradient, mode.precision);
    if (likelihood_.y.has_shape_numbers()) add_exact_curvatures(mode);
    const SearchEnd end{beta_, early_, dependent};
    const auto note = likelihood_.y.scale_is_factor() || likelihood_.y.family() == Family::student_t
                          ? exact_fit(likelihood_, end)
                          : separation(likelihood_, end, gram);
    if (note) mode.warnings.push_back(*note);
    mode.coefficients.assign(beta_.begin(), beta_.end());
    mode.numbers = likelihood_.numbers.values();
    return mode;
  }

 private:
  /// Far beyond any predictor that data could call for.
  void check_divergence() const {
    if (likelihood_.y.family() == Family::gaussian || likelihood_.y.family() == Family::student_t) return;
    for (std::size_t i = 0; i < likelihood_.y.rows(); ++i)
      if (likelihood_.y.weight(i) > 0 && std::abs(likelihood_.eta[i]) > 60) throw_diverged(likelihood_);
  }

  double log_density(const Eigen::VectorXd& beta) {
    double value = likelihood_.value(beta);
    for (std::size_t j = 0; j < likelihood_.x.columns(); ++j)
      value += likelihood_.posterior.priors()[j].at(beta[index(j)]).value;
    return value;
  }

  void derivatives(const Eigen::VectorXd& beta, Eigen::VectorXd& gradient, Eigen::MatrixXd& precision) {
    likelihood_.derivatives(beta, gradient, precision);
    for (std::size_t j = 0; j < likelihood_.x.columns(); ++j) {
      const Prior& prior = likelihood_.posterior.priors()[j];
      gradient[index(j)] += prior.at(beta[index(j)]).slope;
      precision(index(j), index(j)) += prior.precision();
    }
  }

  /// Gaussian: what the coefficients' spread about the mode adds to the sum of squares on average. Without it
  /// the scale would be that of the joint mode, which is too small, and 0 if there are as many columns as
  /// rows.
  double expected_squares(const Eigen::MatrixXd& precision) const {
    if (likelihood_.y.family() != Family::gaussian) return 0;
    const Eigen::MatrixXd covariance =
        precision.llt().solve(Eigen::MatrixXd::Identity(precision.rows(), precision.cols()));
    double held_by_priors = 0;
    for (std::size_t j = 0; j < likelihood_.x.columns(); ++j)
      held_by_priors += likelihood_.posterior.priors()[j].precision() * covariance(index(j), index(j));
    const double told = static_cast<double>(likelihood_.x.columns()) - held_by_priors;
    const double sigma = likelihood_.numbers.values()[0];
    return std::isfinite(told) ? std::max(told, 0.0) * sigma * sigma : 0.0;
  }

  /// The best numbers of the family for these coefficients, their priors included.
  void update_numbers(const Eigen::VectorXd& beta, double more_squares) {
    likelihood_.predict(beta);
    const auto& sampled = likelihood_.posterior.sampled_numbers();
    const int rounds = sampled.size() > 1 ? 3 : 1;  // one by one they converge together
    for (int round = 0; round < rounds; ++round)
      for (const std::size_t i : sampled) update_number(i, more_squares);
  }

  /// Coefficients and numbers together, as they are at the mode; where that is no maximum in the
  /// coefficients, the curvature that touches stays.
  void add_exact_curvatures(Mode& mode) {
    const RegressionPosterior& posterior = likelihood_.posterior;
    const Observations& y = likelihood_.y;
    const FamilyNumbers& numbers = likelihood_.numbers;
    Floats slopes(likelihood_.eta.size(), 0.0f), weights(likelihood_.eta.size(), 0.0f);
    likelihood_.predict(beta_);
    y.row_slopes(likelihood_.eta.data(), numbers, slopes.data(), weights.data(), likelihood_.pool,
                 Curvature::exact);
    // A weight below 0 has no square root, which products of columns take: those rows by themselves.
    for (std::size_t i = 0; i < weights.size(); ++i) {
      slopes[i] = std::max(-weights[i], 0.0f);
      weights[i] = std::max(weights[i], 0.0f);
    }
    Eigen::MatrixXd exact = likelihood_.x.gram(weights.data(), likelihood_.pool) -
                            likelihood_.x.gram(slopes.data(), likelihood_.pool);
    for (Eigen::Index j = 0; j < exact.rows(); ++j)
      exact(j, j) += posterior.priors()[static_cast<std::size_t>(j)].precision();
    if (exact.allFinite() && exact.llt().info() == Eigen::Success) mode.precision = exact;
    const auto& sampled = posterior.sampled_numbers();
    const Eigen::Index count = index(sampled.size());
    mode.cross.resize(beta_.size(), count);
    mode.number_precision.resize(count, count);
    std::vector<double> turns(numbers.size(), 0.0);
    const auto curvature = [&](std::size_t i, std::size_t j) {  // along both at once
      turns[sampled[i]] += 1;
      if (i != j) turns[sampled[j]] += 1;
      const double found = y.number_jet(likelihood_.eta.data(), numbers, turns, likelihood_.pool).curvature;
      turns[sampled[i]] = turns[sampled[j]] = 0;
      return found;
    };
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      mode.number_precision(index(i), index(i)) = -curvature(i, i);
      for (std::size_t j = 0; j < i; ++j)
        mode.number_precision(index(i), index(j)) = mode.number_precision(index(j), index(i)) =
            0.5 * (-curvature(i, j) - mode.number_precision(index(i), index(i)) -
                   mode.number_precision(index(j), index(j)));
      turns[sampled[i]] = 1;
      y.mixed_rows(likelihood_.eta.data(), numbers, turns, slopes.data(), likelihood_.pool);
      turns[sampled[i]] = 0;
      std::vector<double> products(likelihood_.x.columns());
      likelihood_.x.multiply_transposed(slopes.data(), 1, products, likelihood_.pool);
      mode.cross.col(index(i)) = -Eigen::Map<const Eigen::VectorXd>(products.data(), beta_.size());
    }
    for (std::size_t i = 0; i < sampled.size(); ++i)
      mode.number_precision(index(i), index(i)) -=
          posterior.number_prior_at(sampled[i], numbers.log(sampled[i])).curvature;
  }

  void update_number(std::size_t i, double more_squares) {
    double log = likelihood_.numbers.log(i);
    double unit_sum = 0;
    if (likelihood_.y.scale_is_factor()) {
      unit_sum = likelihood_.y.sums({.eta = likelihood_.eta.data()}, likelihood_.pool).value;
      // Twice what the rows lose on average: of gaussian rows the variance, of gamma ones about 1 / shape.
      double spread = (-2 * unit_sum + more_squares) / std::max(likelihood_.y.total_weight(), 1.0);
      spread = std::max(spread, 1e-30);
      if (likelihood_.y.family() == Family::gaussian) unit_sum -= 0.5 * more_squares;
      log = likelihood_.y.family() == Family::gaussian ? 0.5 * std::log(spread) : -std::log(spread);
    }
    const NumberJets jets(likelihood_.y, likelihood_.eta.data(), likelihood_.pool, likelihood_.numbers, i,
                          unit_sum);
    for (int iteration = 0; iteration < 50; ++iteration) {
      const Jet jet = jets(log);
      const Jet prior = likelihood_.posterior.number_prior_at(i, log);
      const double slope = jet.slope + prior.slope,
                   h = std::max(-(jet.curvature + prior.curvature), 0.1 * std::abs(slope));
      const double step = h > 0 ? std::clamp(slope / h, -1.0, 1.0) : 0.0;
      log = std::clamp(log + step, -30.0, 30.0);
      if (std::abs(step) < 1e-6) break;
    }
    likelihood_.numbers.set_log(i, log);
  }

  Likelihood likelihood_;
  Eigen::VectorXd beta_;
  Eigen::VectorXd early_;  // where the search came near the mode for the first time
};

}  // namespace

std::vector<std::string> data_warnings(const RegressionPosterior& posterior, ThreadPool& pool) {
  const Observations& y = posterior.observations();
  if (y.classes() == 1) return find_mode(posterior, pool).warnings;
  if (any_flat(posterior))
    throw Error(
        "under a flat prior the posterior of the categorical family cannot be normalised: adding the same "
        "to the coefficients of every class changes no probability. Give the coefficients and the "
        "intercept a normal prior");
  std::vector<std::string> found =
      find_dependent_columns(posterior, posterior.design().gram(nullptr, pool)).sentences;
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

Mode find_mode(const RegressionPosterior& posterior, ThreadPool& pool) {
  return Newton(posterior, pool).run();
}

}  // namespace onward::glm
