// The moves of a chain with groups, one by one. Each leaves the posterior invariant by itself.

#include <algorithm>
#include <array>
#include <cmath>

#include "covariance.hpp"
#include "group_chain.hpp"

namespace onward::glm {
namespace {

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

/// The normal that a level proposes from, in q dimensions: by Newton's rule, with A = C C^T its precision
/// before it is relaxed.
class LevelProposal {
 public:
  /// `sums` are those of GroupRows for the level; `precision` is that of its effects' prior.
  void set(std::size_t q, const double* sums, const double* effects, std::span<const double> precision,
           const Rule& rule) {
    q_ = q;
    spread_ = std::sqrt(rule.relaxation * (2 - rule.relaxation));
    factor_.resize(q * q);
    mean_.resize(q);
    const double* hessian = sums + 1 + q;
    for (std::size_t i = 0; i < q; ++i) {
      double slope = sums[1 + i];
      for (std::size_t k = 0; k < q; ++k) slope -= precision[i * q + k] * effects[k];
      mean_[i] = slope;
      for (std::size_t k = 0; k <= i; ++k) factor_[i * q + k] = *hessian++ + precision[i * q + k];
    }
    log_volume_ = 0;
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        double rest = factor_[i * q + k];
        for (std::size_t m = 0; m < k; ++m) rest -= factor_[i * q + m] * factor_[k * q + m];
        if (i == k) {
          factor_[i * q + i] = std::sqrt(rest);
          log_volume_ += std::log(factor_[i * q + i]);
        } else {
          factor_[i * q + k] = rest / factor_[k * q + k];
        }
      }
    // c A^-1 slope, no longer than the rule allows.
    double squares = 0;
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t k = 0; k < i; ++k) mean_[i] -= factor_[i * q + k] * mean_[k];
      mean_[i] /= factor_[i * q + i];
      squares += mean_[i] * mean_[i];
    }
    const double length = std::sqrt(squares);
    const double shorter = length > rule.longest ? rule.longest / length : 1.0;
    for (double& m : mean_) m *= rule.relaxation * shorter;
    solve_transposed(mean_.data());
  }
  /// From standard normal numbers to a step, in their place.
  void step(double* z) const {
    for (std::size_t i = 0; i < q_; ++i) z[i] *= spread_;
    solve_transposed(z);
    for (std::size_t i = 0; i < q_; ++i) z[i] += mean_[i];
  }
  /// The log density of a step, up to a constant.
  double log_density(const float* step, double sign) const {
    double squares = 0;
    for (std::size_t i = 0; i < q_; ++i) {  // C^T (step - mean) / spread
      double z = 0;
      for (std::size_t k = i; k < q_; ++k)
        z += factor_[k * q_ + i] * (sign * static_cast<double>(step[k]) - mean_[k]);
      squares += z * z;
    }
    return -0.5 * squares / (spread_ * spread_) + log_volume_;
  }

 private:
  void solve_transposed(double* x) const {
    for (std::size_t i = q_; i-- > 0;) {
      for (std::size_t k = i + 1; k < q_; ++k) x[i] -= factor_[k * q_ + i] * x[k];
      x[i] /= factor_[i * q_ + i];
    }
  }
  std::size_t q_ = 0;
  double spread_ = 1, log_volume_ = 0;
  std::vector<double> factor_, mean_;
};

/// b^T P b
double quadratic(std::span<const double> precision, const double* b, std::size_t q) {
  double sum = 0;
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t k = 0; k < q; ++k) sum += b[i] * precision[i * q + k] * b[k];
  return sum;
}

/// Memory that a thread uses for one chain after the other.
struct Scratch {
  std::vector<double> here, there, noise, tests, before;
  std::vector<float> delta;
  Floats direction, slopes, moved;
};
Scratch& scratch() {
  thread_local Scratch mine;
  return mine;
}

}  // namespace

void GroupChain::update_levels(std::size_t t) {
  const GroupRows& rows = s_.rows[t];
  const GroupTerm& term = rows.term();
  TermState& state = terms_[t];
  Scratch& w = scratch();
  const std::size_t q = term.width(), levels = term.count(), each = rows.numbers();
  w.here.resize(levels * each);
  w.delta.resize(levels * q);
  w.noise.resize(levels * q);
  rows.sums(eta_.data(), nullptr, scale(), w.here, pool_);
  ++done_.passes;
  stream_.normals(next(), Purpose::noise, w.noise);
  // A gaussian level is exactly normal given the rest: what is proposed needs no test, and no clipping.
  const bool exact = s_.y().family() == Family::gaussian;
  Rule rule = rule_;
  if (exact) rule.longest = 1e300;
  LevelProposal forward, back;
  w.before.resize(levels);
  for (std::size_t l = 0; l < levels; ++l) {
    double* z = &w.noise[l * q];
    forward.set(q, &w.here[l * each], &state.effects[l * q], state.precision, rule);
    forward.step(z);
    for (std::size_t c = 0; c < q; ++c) w.delta[l * q + c] = static_cast<float>(z[c]);
    if (!exact) w.before[l] = forward.log_density(&w.delta[l * q], 1);
  }
  if (!exact) {
    w.there.resize(levels * each);
    w.tests.resize(levels);
    rows.sums(eta_.data(), w.delta.data(), scale(), w.there, pool_);
    ++done_.passes;
    stream_.uniforms(next(), Purpose::accept, w.tests);
    std::array<double, 32> moved;
    for (std::size_t l = 0; l < levels; ++l) {
      const double* effects = &state.effects[l * q];
      for (std::size_t c = 0; c < q; ++c) moved[c] = effects[c] + static_cast<double>(w.delta[l * q + c]);
      back.set(q, &w.there[l * each], moved.data(), state.precision, rule);
      const double log_ratio =
          w.there[l * each] - w.here[l * each] -
          0.5 * (quadratic(state.precision, moved.data(), q) - quadratic(state.precision, effects, q)) +
          back.log_density(&w.delta[l * q], -1) - w.before[l];
      const bool finite = std::isfinite(log_ratio);
      const bool accepted = finite && std::log(w.tests[l]) < log_ratio;
      done_.nonfinite += finite ? 0 : 1;
      count(accepted);
      if (!accepted) std::fill_n(&w.delta[l * q], q, 0.0f);
    }
  } else {
    done_.updates += levels, done_.accepted += levels;
  }
  rows.move(eta_.data(), w.delta.data(), pool_);
  for (std::size_t i = 0; i < w.delta.size(); ++i) state.effects[i] += static_cast<double>(w.delta[i]);
}

/// All coefficients at once: one gradient, and the metric that warm-up has learned.
void GroupChain::update_coefficients() {
  const Design& x = s_.x();
  const Observations& y = s_.y();
  const auto& priors = s_.posterior.population().priors();
  const std::size_t width = x.columns();
  Scratch& w = scratch();
  w.direction.assign(eta_.size(), 0.0f);
  w.slopes.assign(eta_.size(), 0.0f);
  const bool gaussian = y.family() == Family::gaussian;
  if (gaussian) {  // whose precision is known, given sigma
    precision_ = s_.gram / (scale() * scale());
    for (std::size_t j = 0; j < width; ++j) precision_(index(j), index(j)) += priors[j].precision();
    coefficients_.compute(precision_);
  }
  const bool exact = gaussian && std::ranges::all_of(priors, &Prior::is_quadratic);
  Rule rule = rule_;
  if (exact) rule = {1, 0, 1e300};
  // Now and then shorter steps, which are taken where the metric does not fit.
  if (!exact && number_ % 4 == 3) rule.relaxation = 0.3;
  if (!exact && number_ % 16 == 9) rule.relaxation = 0.05;
  const auto propose_from = [&](const Vector& beta, const Floats& eta, double& value) {
    value = y.row_slopes(eta.data(), scale(), w.slopes.data(), nullptr, pool_);
    ++done_.passes;
    Vector slope(index(width));
    x.multiply_transposed(w.slopes.data(), 1, {slope.data(), width}, pool_);
    for (std::size_t j = 0; j < width; ++j) {
      const Jet prior = priors[j].at(beta[index(j)]);
      value += prior.value;
      slope[index(j)] += prior.slope;
    }
    Vector mean = coefficients_.matrixL().solve(slope);
    const double length = mean.norm();
    if (length > rule.longest) mean *= rule.longest / length;
    return Vector(rule.relaxation * mean);  // in whitened coordinates
  };
  const double spread = std::sqrt(rule.relaxation * (2 - rule.relaxation));
  double value_here = 0, value_there = 0;
  const Vector forward = propose_from(beta_, eta_, value_here);
  Vector z(index(width));
  stream_.normals(next(), Purpose::noise, {z.data(), width});
  const Vector whitened = forward + spread * z;
  const Vector step = coefficients_.matrixU().solve(whitened);
  x.multiply({step.data(), width}, w.direction.data(), pool_);
  w.moved.resize(eta_.size());
  for (std::size_t i = 0; i < eta_.size(); ++i) w.moved[i] = eta_[i] + w.direction[i];
  bool accepted = exact;
  const Vector moved = beta_ + step;
  if (!exact) {
    const Vector back = propose_from(moved, w.moved, value_there);
    const double log_ratio = value_there - value_here -
                             0.5 * (whitened + back).squaredNorm() / (spread * spread) +
                             0.5 * z.squaredNorm();
    accepted = std::isfinite(log_ratio) && std::log(uniform()) < log_ratio;
    done_.nonfinite += std::isfinite(log_ratio) ? 0 : 1;
  }
  count(accepted);
  if (!accepted) return;
  beta_ = moved;
  eta_.swap(w.moved);
}

/// Normal given everything else, up to priors of coefficients that are not: these are in the test.
void GroupChain::shift(const Shift& shift) {
  const GroupTerm& term = s_.posterior.terms()[shift.term];
  TermState& state = terms_[shift.term];
  const auto& priors = s_.posterior.population().priors();
  const std::size_t q = term.width(), n = shift.columns.size();
  Eigen::MatrixXd precision = Eigen::MatrixXd::Zero(index(n), index(n));
  Vector slope = Vector::Zero(index(n));
  for (std::size_t j = 0; j < n; ++j) {
    const ShiftColumn& column = shift.columns[j];
    for (std::size_t k = 0; k < n; ++k)
      precision(index(j), index(k)) +=
          shift.products(index(j), index(k)) * state.precision[column.column * q + shift.columns[k].column];
    for (std::size_t l = 0; l < term.count(); ++l) {
      double pull = 0;
      for (std::size_t c = 0; c < q; ++c)
        pull += state.precision[column.column * q + c] * state.effects[l * q + c];
      slope[index(j)] += column.at(l) * pull;
    }
  }
  // How the coefficients move with the shifts.
  Eigen::MatrixXd moves = Eigen::MatrixXd::Zero(beta_.size(), index(n));
  for (std::size_t j = 0; j < n; ++j) {
    moves(index(shift.columns[j].coefficient), index(j)) += 1;
    if (shift.columns[j].to_intercept != 0) moves(0, index(j)) += shift.columns[j].to_intercept;
  }
  bool all_normal = true;
  for (Eigen::Index i = 0; i < beta_.size(); ++i) {
    const Prior& prior = priors[static_cast<std::size_t>(i)];
    if (!prior.is_quadratic()) {
      all_normal = all_normal && moves.row(i).isZero();
      continue;
    }
    const Jet jet = prior.at(beta_[i]);
    precision -= jet.curvature * moves.row(i).transpose() * moves.row(i);
    slope += jet.slope * moves.row(i).transpose();
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(precision);
  Vector z(index(n));
  stream_.normals(next(), Purpose::noise, {z.data(), n});
  const Vector delta = factor.solve(slope) + factor.matrixU().solve(z);
  if (factor.info() != Eigen::Success || !delta.allFinite()) return;
  const Vector moved = beta_ + moves * delta;
  if (!all_normal) {
    double log_ratio = 0;
    for (Eigen::Index i = 0; i < beta_.size(); ++i) {
      const Prior& prior = priors[static_cast<std::size_t>(i)];
      if (!prior.is_quadratic()) log_ratio += prior.at(moved[i]).value - prior.at(beta_[i]).value;
    }
    const bool accepted = std::log(uniform()) < log_ratio;
    count(accepted);
    if (!accepted) return;
  }
  beta_ = moved;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t l = 0; l < term.count(); ++l)
      state.effects[l * q + shift.columns[j].column] -= shift.columns[j].at(l) * delta[index(j)];
}

/// Exactly normal, level by level of the outer term.
void GroupChain::shift_nested(const NestedShift& shift) {
  TermState &outer = terms_[shift.outer], &inner = terms_[shift.inner];
  const std::size_t qo = s_.posterior.terms()[shift.outer].width(),
                    qi = s_.posterior.terms()[shift.inner].width();
  const std::size_t levels = s_.posterior.terms()[shift.outer].count();
  const auto pull = [](const TermState& state, std::size_t q, std::size_t column, std::size_t level) {
    double sum = 0;
    for (std::size_t c = 0; c < q; ++c) sum += state.precision[column * q + c] * state.effects[level * q + c];
    return sum;
  };
  std::vector<double> slope(levels),
      precision(levels, outer.precision[shift.outer_column * qo + shift.outer_column]);
  for (std::size_t a = 0; a < levels; ++a) slope[a] = -pull(outer, qo, shift.outer_column, a);
  for (std::size_t b = 0; b < shift.parent.size(); ++b) {
    slope[shift.parent[b]] += pull(inner, qi, shift.inner_column, b);
    precision[shift.parent[b]] += inner.precision[shift.inner_column * qi + shift.inner_column];
  }
  Scratch& w = scratch();
  w.noise.resize(levels);
  stream_.normals(next(), Purpose::noise, w.noise);
  for (std::size_t a = 0; a < levels; ++a) {
    slope[a] = slope[a] / precision[a] + w.noise[a] / std::sqrt(precision[a]);
    outer.effects[a * qo + shift.outer_column] += slope[a];
  }
  for (std::size_t b = 0; b < shift.parent.size(); ++b)
    inner.effects[b * qi + shift.inner_column] -= slope[shift.parent[b]];
}

/// Standard deviations and correlations given the effects: no row is looked at.
void GroupChain::update_scales(std::size_t t) {
  const GroupTerm& term = s_.posterior.terms()[t];
  const GroupPriors& priors = s_.posterior.priors()[t];
  TermState& state = terms_[t];
  const std::size_t q = term.width();
  // The sum of b b^T, as K K^T: the density needs no more of the effects.
  Eigen::MatrixXd squares = Eigen::MatrixXd::Zero(index(q), index(q));
  for (std::size_t l = 0; l < term.count(); ++l)
    for (std::size_t i = 0; i < q; ++i)
      for (std::size_t k = 0; k <= i; ++k)
        squares(index(i), index(k)) += state.effects[l * q + i] * state.effects[l * q + k];
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t k = 0; k <= i; ++k) {
      double rest = squares(index(i), index(k));
      for (std::size_t m = 0; m < k; ++m) rest -= squares(index(i), index(m)) * squares(index(k), index(m));
      if (i == k)
        squares(index(i), index(i)) = std::sqrt(std::max(rest, 0.0));
      else
        squares(index(i), index(k)) =
            squares(index(k), index(k)) > 0 ? rest / squares(index(k), index(k)) : 0.0;
    }
  using T = Jet2<double>;
  const auto jet_of = [&](std::size_t coordinate) {
    return [&, coordinate](double x) {
      std::vector<T> log_sds(q), sds(q), y(term.correlations()), column(q), u(q);
      for (std::size_t c = 0; c < q; ++c) {
        log_sds[c] = c == coordinate ? T(x, 1.0) : T(state.log_sds[c]);
        sds[c] = exp(log_sds[c]);
      }
      Jet prior;
      if (coordinate < q) prior = priors.sds[coordinate].at_log(x);
      std::size_t next = 0;
      for (std::size_t i = 0; i < q; ++i)
        for (std::size_t j = 0; j < i; ++j, ++next) {
          y[next] = q + next == coordinate ? T(x, 1.0) : T(state.correlations[next]);
          if (q + next == coordinate) prior = correlation_prior(x, j, q, priors.lkj);
        }
      const std::vector<T> factor = correlation_factor<T>(q, y);
      T sum = -static_cast<double>(term.count()) * log_volume<T>(log_sds, factor);
      for (std::size_t m = 0; m < q; ++m) {
        for (std::size_t i = 0; i < q; ++i) column[i] = T(i >= m ? squares(index(i), index(m)) : 0.0);
        standardise<T>(sds, factor, column, u);
        for (std::size_t i = 0; i < q; ++i) sum -= 0.5 * u[i] * u[i];
      }
      return Jet{sum.value + prior.value, sum.slope + prior.slope, sum.curvature + prior.curvature};
    };
  };
  constexpr int rounds = 2;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < q + term.correlations(); ++k) {
      double& x = k < q ? state.log_sds[k] : state.correlations[k - q];
      const auto jet = jet_of(k);
      Jet here = jet(x);
      const double noise = normal(), choice = uniform(), test = uniform();
      count(move_number(x, here, jet, noise, choice, test));
    }
  state.derive(q);
}

/// A standard deviation and its effects, stretched together: the effects over their sd stay what they are,
/// so only the likelihood and the prior of the sd change.
void GroupChain::stretch(std::size_t t, std::size_t column) {
  const GroupRows& rows = s_.rows[t];
  const Observations& y = s_.y();
  TermState& state = terms_[t];
  const std::size_t q = rows.term().width();
  const Prior& prior = s_.posterior.priors()[t].sds[column];
  Scratch& w = scratch();
  w.direction.assign(eta_.size(), 0.0f);
  rows.direction(column, state.effects, w.direction.data(), pool_);
  w.moved.resize(eta_.size());
  // Along d, which the effects add to the predictor, a stretch by e^delta goes as far as alpha = e^delta - 1.
  const auto by_delta = [&](const LineSums& sums, double alpha) {
    const double grown = 1 + alpha;
    const Jet sd = prior.at_log(state.log_sds[column] + std::log1p(alpha));
    return Jet{sums.value + sd.value, sums.slope * grown + sd.slope,
               sums.curvature * grown * grown + sums.slope * grown + sd.curvature};
  };
  const LineSums at = y.sums({.eta = eta_.data(), .d = w.direction.data(), .scale = scale()}, pool_);
  ++done_.passes;
  const Jet here = by_delta(at, 0);
  bool floored = false;
  const Proposal forward = propose(here, scale_rule, floored);
  const auto alpha = static_cast<float>(std::expm1(forward.mean + forward.sd * normal()));
  const double a = static_cast<double>(alpha), delta = std::log1p(a), test = uniform();
  LineSums moved;
  if (y.family() == Family::gaussian) {  // a quadratic, known from one place
    moved = {at.value + a * (at.slope + 0.5 * a * at.curvature), at.slope + a * at.curvature, at.curvature};
  } else {
    moved = y.sums({.eta = eta_.data(),
                    .d = w.direction.data(),
                    .alpha = alpha,
                    .moved = w.moved.data(),
                    .scale = scale()},
                   pool_);
    ++done_.passes;
  }
  const Jet there = by_delta(moved, a);
  const Proposal back = propose(there, scale_rule, floored);
  const double log_ratio = there.value - here.value + log_normal(-delta, back) - log_normal(delta, forward);
  const bool accepted = std::isfinite(log_ratio) && std::log(test) < log_ratio;
  count(accepted);
  if (!accepted) return;
  if (y.family() == Family::gaussian)
    for (std::size_t i = 0; i < y.rows(); ++i) eta_[i] += alpha * w.direction[i];
  else
    eta_.swap(w.moved);
  for (std::size_t l = 0; l < rows.term().count(); ++l) state.effects[l * q + column] *= 1 + a;
  state.log_sds[column] += delta;
  state.derive(q);
}

/// Correlations and effects, turned together: the standardised effects u stay what they are.
void GroupChain::turn_correlations(std::size_t t) {
  const GroupRows& rows = s_.rows[t];
  const GroupTerm& term = rows.term();
  const GroupPriors& priors = s_.posterior.priors()[t];
  TermState& state = terms_[t];
  const std::size_t q = term.width(), n = term.correlations();
  if (n == 0) return;
  std::vector<double> z(n);
  stream_.normals(next(), Purpose::noise, z);
  const double test = uniform(), width = std::exp(state.log_step);
  TermState turned;
  turned.log_sds = state.log_sds;
  turned.correlations = state.correlations;
  double log_ratio = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t j = 0; j < i; ++j, ++k) {
      turned.correlations[k] += width * z[k];
      log_ratio += correlation_prior(turned.correlations[k], j, q, priors.lkj).value -
                   correlation_prior(state.correlations[k], j, q, priors.lkj).value;
    }
  turned.derive(q);
  Scratch& w = scratch();
  w.delta.resize(term.count() * q);
  std::vector<double> sds(q), u(q);
  for (std::size_t c = 0; c < q; ++c) sds[c] = std::exp(state.log_sds[c]);
  for (std::size_t l = 0; l < term.count(); ++l) {
    standardise<double>(sds, state.factor, std::span<const double>(state.effects).subspan(l * q, q), u);
    for (std::size_t i = 0; i < q; ++i) {
      double sum = 0;
      for (std::size_t m = 0; m <= i; ++m) sum += turned.factor[i * q + m] * u[m];
      w.delta[l * q + i] = static_cast<float>(sds[i] * sum - state.effects[l * q + i]);
    }
  }
  w.moved.assign(eta_.begin(), eta_.end());
  rows.move(w.moved.data(), w.delta.data(), pool_);
  const Observations& y = s_.y();
  log_ratio += y.sums({.eta = w.moved.data(), .scale = scale()}, pool_).value -
               y.sums({.eta = eta_.data(), .scale = scale()}, pool_).value;
  done_.passes += 2;
  const bool accepted = std::isfinite(log_ratio) && std::log(test) < log_ratio;
  count(accepted);
  if (!frozen_) {
    constexpr double wanted = 0.35;
    ++state.steps_adapted;
    state.log_step += (std::clamp(std::exp(std::min(log_ratio, 0.0)), 0.0, 1.0) - wanted) /
                      std::sqrt(static_cast<double>(state.steps_adapted));
    state.log_step = std::clamp(state.log_step, -10.0, 2.0);
  }
  if (!accepted) return;
  eta_.swap(w.moved);
  for (std::size_t i = 0; i < w.delta.size(); ++i) state.effects[i] += static_cast<double>(w.delta[i]);
  state.correlations = turned.correlations;
  state.derive(q);
}

void GroupChain::update_family_scale() {
  const RegressionPosterior& population = s_.posterior.population();
  if (!population.samples_scale()) return;
  const Observations& y = s_.y();
  const bool gaussian = y.family() == Family::gaussian;
  const double squares = gaussian ? -2 * y.sums({.eta = eta_.data()}, pool_).value : 0;
  const auto jet = [&](double log_scale) {
    const Jet rows =
        gaussian ? y.sigma_jet(squares, log_scale) : y.dispersion_jet(eta_.data(), log_scale, pool_);
    ++done_.passes;
    const Jet prior = population.scale_prior().at_log(log_scale);
    return Jet{rows.value + prior.value, rows.slope + prior.slope, rows.curvature + prior.curvature};
  };
  Jet here = jet(log_scale_);
  constexpr int moves = 3;
  for (int move = 0; move < moves; ++move) {
    const double noise = normal(), choice = uniform(), test = uniform();
    count(move_number(log_scale_, here, jet, noise, choice, test));
  }
}

}  // namespace onward::glm
