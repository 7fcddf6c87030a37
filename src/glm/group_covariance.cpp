// What slopes need whose columns are far from 0, such as years: intercepts and slopes are then tied to each
// other. The whole covariance of a term's effects is drawn at once, given the effects, which is the same in
// any coordinates of the columns; and where the two are in different terms, lines are found along which both
// move.

#include <algorithm>
#include <cmath>

#include "group_chain.hpp"

namespace onward::glm {
namespace {

/// Standard deviations and what is sampled of the correlations of a covariance M M^T.
struct Parts {
  std::vector<double> log_sds, correlations;
  double log_determinant = 0;  ///< of the correlation matrix
  bool usable = true;
};

Parts parts_of(const Eigen::MatrixXd& covariance) {
  const Eigen::Index q = covariance.rows();
  Parts parts;
  const Eigen::VectorXd sds = covariance.diagonal().cwiseSqrt();
  const Eigen::MatrixXd correlation =
      sds.cwiseInverse().asDiagonal() * covariance * sds.cwiseInverse().asDiagonal();
  const Eigen::LLT<Eigen::MatrixXd> llt(correlation);
  parts.usable = llt.info() == Eigen::Success && sds.allFinite();
  const Eigen::MatrixXd factor = llt.matrixL();
  for (Eigen::Index i = 0; i < q; ++i) {
    parts.log_sds.push_back(std::log(sds[i]));
    parts.log_determinant += 2 * std::log(factor(i, i));
    double left = 1;
    for (Eigen::Index j = 0; j < i; ++j) {
      const double z = factor(i, j) / std::sqrt(left);
      parts.correlations.push_back(std::atanh(z));
      parts.usable = parts.usable && std::abs(z) < 1;
      left *= 1 - z * z;
    }
  }
  return parts;
}

/// The log prior as a density over covariances: from standard deviations and correlations to these the volume
/// grows by the product of all sds to the power q.
double log_prior(const GroupPriors& priors, const std::vector<double>& log_sds, double log_determinant) {
  double sum = (priors.lkj - 1) * log_determinant;
  const auto q = static_cast<double>(log_sds.size());
  for (std::size_t c = 0; c < log_sds.size(); ++c)
    sum += priors.sds[c].at_log(log_sds[c]).value - (1 + q) * log_sds[c];  // at_log is over the logarithm
  return sum;
}

}  // namespace

std::vector<Tilt> find_tilts(const MixedPosterior& posterior) {
  const Observations& y = posterior.population().observations();
  const auto& terms = posterior.terms();
  std::vector<Tilt> tilts;
  const auto add = [&](std::size_t t, std::size_t c, std::size_t other, std::size_t k) {
    const Floats& values = terms[t].values[c];
    double sum = 0;
    for (std::size_t i = 0; i < y.rows(); ++i) sum += static_cast<double>(values[i]);
    // Rounded to the float that is subtracted.
    const auto mean = static_cast<float>(sum / static_cast<double>(y.rows()));
    Tilt tilt{t, c, other, k, static_cast<double>(mean)};
    tilt.term = std::make_unique<GroupTerm>(terms[t]);
    tilt.term->columns = {terms[t].columns[c]};
    tilt.term->values = {values};
    for (float& value : tilt.term->values[0]) value -= mean;
    tilt.rows = std::make_unique<GroupRows>(y, *tilt.term);
    tilts.push_back(std::move(tilt));
  };
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const auto far = far_columns(y, terms, terms[t].factor);
    for (std::size_t c = 0; c < terms[t].width(); ++c) {
      if (std::ranges::find(far, terms[t].columns[c]) == far.end()) continue;
      for (std::size_t other = 0; other < terms.size(); ++other) {
        if (other == t || terms[other].factor != terms[t].factor || terms[other].levels != terms[t].levels)
          continue;
        for (std::size_t k = 0; k < terms[other].width(); ++k)
          if (terms[other].values[k].empty()) add(t, c, other, k);
      }
    }
  }
  return tilts;
}

/// Proposed from the inverse Wishart distribution that the effects alone make of it, so that the test is of
/// the prior alone.
void GroupChain::redraw_covariance(std::size_t t) {
  const GroupTerm& term = s_.posterior.terms()[t];
  const GroupPriors& priors = s_.posterior.priors()[t];
  TermState& state = terms_[t];
  const std::size_t q = term.width(), n = term.count();
  if (q < 2 || n <= 2 * q) return;
  Eigen::MatrixXd squares = Eigen::MatrixXd::Zero(index(q), index(q));
  for (std::size_t l = 0; l < n; ++l) {
    const Eigen::Map<const Vector> b(&state.effects[l * q], index(q));
    squares.noalias() += b * b.transpose();
  }
  const std::size_t degrees = n - q - 1;
  std::vector<double> z(degrees * q);
  stream_.normals(next(), Purpose::noise, z);
  const double test = uniform();
  const Eigen::Map<const Eigen::MatrixXd> noise(z.data(), index(q), index(degrees));
  const Eigen::LLT<Eigen::MatrixXd> of_squares(squares), wishart(noise * noise.transpose());
  if (of_squares.info() != Eigen::Success || wishart.info() != Eigen::Success) return count(false);
  const Eigen::MatrixXd half = wishart.matrixL().solve(Eigen::MatrixXd(of_squares.matrixL()).transpose());
  const Parts proposed = parts_of(half.transpose() * half);
  double here_determinant = 0;
  for (std::size_t i = 0; i < q; ++i) here_determinant += 2 * std::log(state.factor[i * q + i]);
  const double log_ratio = log_prior(priors, proposed.log_sds, proposed.log_determinant) -
                           log_prior(priors, state.log_sds, here_determinant);
  const bool accepted = proposed.usable && std::isfinite(log_ratio) && std::log(test) < log_ratio;
  count(accepted);
  if (!accepted) return;
  state.log_sds = proposed.log_sds;
  state.correlations = proposed.correlations;
  state.derive(q);
}

}  // namespace onward::glm
