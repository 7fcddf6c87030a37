// Moves of effects and coefficients, one by one (group_scales.cpp has those of the rest). Each leaves the
// posterior invariant by itself.

#include <algorithm>
#include <array>
#include <cmath>

#include "group_chain.hpp"
#include "group_scratch.hpp"
#include "level_proposal.hpp"
#include "row_loop.hpp"

namespace onward::glm {

void GroupChain::update_levels(std::size_t t) {
  move_levels(s_.rows[t], terms_[t].effects, terms_[t].precision);
}

/// Effects of all levels, normal about 0 with this precision; how far they moved stays in the scratch memory.
void GroupChain::move_levels(const GroupRows& rows, std::vector<double>& all_effects,
                             const std::vector<double>& precision) {
  const GroupTerm& term = rows.term();
  GroupScratch& w = group_scratch();
  const std::size_t q = term.width(), levels = term.count(), each = rows.numbers();
  w.here.resize(levels * each);
  w.delta.resize(levels * q);
  w.noise.resize(levels * q);
  rows.sums(eta_.data(), nullptr, numbers_, w.here, pool_);
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
    forward.set(q, &w.here[l * each], &all_effects[l * q], precision, rule);
    forward.step(z);
    for (std::size_t c = 0; c < q; ++c) w.delta[l * q + c] = static_cast<float>(z[c]);
    if (!exact) w.before[l] = forward.log_density(&w.delta[l * q], 1);
  }
  if (!exact) {
    w.there.resize(levels * each);
    w.tests.resize(levels);
    rows.sums(eta_.data(), w.delta.data(), numbers_, w.there, pool_);
    ++done_.passes;
    stream_.uniforms(next(), Purpose::accept, w.tests);
    std::array<double, 32> moved;
    for (std::size_t l = 0; l < levels; ++l) {
      const double* effects = &all_effects[l * q];
      for (std::size_t c = 0; c < q; ++c) moved[c] = effects[c] + static_cast<double>(w.delta[l * q + c]);
      back.set(q, &w.there[l * each], moved.data(), precision, rule);
      const double log_ratio =
          w.there[l * each] - w.here[l * each] -
          0.5 * (quadratic(precision, moved.data(), q) - quadratic(precision, effects, q)) +
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
  for (std::size_t i = 0; i < w.delta.size(); ++i) all_effects[i] += static_cast<double>(w.delta[i]);
}

/// A slope goes up by delta and its intercept down by as much as leaves the predictor where the column is at
/// its mean: a level that has these in two terms, and a column far from 0, would not move otherwise. Its
/// prior along this line is a normal one, about wherever.
void GroupChain::tilt(const Tilt& tilt) {
  TermState &slopes = terms_[tilt.slope_term], &intercepts = terms_[tilt.intercept_term];
  const std::size_t qs = slopes.log_sds.size(), qi = intercepts.log_sds.size(),
                    levels = tilt.rows->term().count();
  const auto pull = [](const TermState& state, std::size_t q, std::size_t column, std::size_t level) {
    double sum = 0;
    for (std::size_t c = 0; c < q; ++c) sum += state.precision[column * q + c] * state.effects[level * q + c];
    return sum;
  };
  const std::vector<double> precision{slopes.precision[tilt.slope * qs + tilt.slope] +
                                      tilt.mean * tilt.mean *
                                          intercepts.precision[tilt.intercept * qi + tilt.intercept]};
  std::vector<double> places(levels);
  for (std::size_t l = 0; l < levels; ++l)
    places[l] = (pull(slopes, qs, tilt.slope, l) - tilt.mean * pull(intercepts, qi, tilt.intercept, l)) /
                precision[0];
  move_levels(*tilt.rows, places, precision);
  const auto& delta = group_scratch().delta;
  for (std::size_t l = 0; l < levels; ++l) {
    slopes.effects[l * qs + tilt.slope] += static_cast<double>(delta[l]);
    intercepts.effects[l * qi + tilt.intercept] -= tilt.mean * static_cast<double>(delta[l]);
  }
}

/// All coefficients at once: one gradient, and the metric that warm-up has learned.
void GroupChain::update_coefficients() {
  const Design& x = s_.x();
  const Observations& y = s_.y();
  const auto& priors = s_.posterior.population().priors();
  const std::size_t width = x.columns();
  const bool gaussian = y.family() == Family::gaussian;
  if (gaussian) {  // whose precision is known, given sigma
    const double sigma = numbers_.values()[0];
    precision_ = s_.gram / (sigma * sigma);
    for (std::size_t j = 0; j < width; ++j) precision_(index(j), index(j)) += priors[j].precision();
    coefficients_.compute(precision_);
  }
  const bool exact = gaussian && std::ranges::all_of(priors, &Prior::is_quadratic);
  Rule rule = rule_;
  if (exact) rule = {1, 0, 1e300};
  // Now and then shorter steps, which are taken where the metric does not fit.
  if (!exact && number_ % 4 == 3) rule.relaxation = 0.3;
  if (!exact && number_ % 16 == 9) rule.relaxation = 0.05;
  // The predictor of a piece after a step, made anew each time rather than kept for all rows.
  const auto moved_piece = [&](const Design::Factors& step, std::size_t piece, std::size_t count) {
    PieceScratch& w = piece_scratch();
    x.multiply(step, piece, w.direction.data());
    const float* eta = eta_.data() + piece * piece_rows;
    for (std::size_t i = 0; i < count; ++i) w.place[i] = eta[i] + w.direction[i];
    return w.place.data();
  };
  std::vector<double> values(pieces_of(y.rows()));
  const auto propose_from = [&](const Vector& beta, const Design::Factors* step, double& value) {
    Vector slope(index(width));
    x.multiply_transposed(
        [&](std::size_t piece, std::span<float> slopes) {
          const std::size_t begin = piece * piece_rows;
          const float* eta = step ? moved_piece(*step, piece, slopes.size()) : eta_.data() + begin;
          values[piece] = y.row_slopes(begin, begin + slopes.size(), eta, numbers_, slopes.data(), nullptr);
        },
        {slope.data(), width}, pool_);
    value = tree_sum<double>(values);
    ++done_.passes;
    for (std::size_t j = 0; j < width; ++j) {
      const Jet prior = priors[j].at(beta[index(j)]);
      value += prior.value;
      slope[index(j)] += prior.slope;
    }
    Vector mean = coefficients_.matrixL().solve(slope);
    const double length = mean.norm();
    const double most = longest_mean(rule, width);
    if (length > most) mean *= most / length;
    return Vector(rule.relaxation * mean);  // in whitened coordinates
  };
  const double spread = std::sqrt(rule.relaxation * (2 - rule.relaxation));
  double value_here = 0, value_there = 0;
  const Vector forward = propose_from(beta_, nullptr, value_here);
  Vector z(index(width));
  stream_.normals(next(), Purpose::noise, {z.data(), width});
  const Vector whitened = forward + spread * z;
  const Vector step = coefficients_.matrixU().solve(whitened);
  const Design::Factors along = x.factors({step.data(), width});
  bool accepted = exact;
  const Vector moved = beta_ + step;
  if (!exact) {
    const Vector back = propose_from(moved, &along, value_there);
    const double log_ratio = value_there - value_here -
                             0.5 * (whitened + back).squaredNorm() / (spread * spread) +
                             0.5 * z.squaredNorm();
    accepted = std::isfinite(log_ratio) && std::log(uniform()) < log_ratio;
    done_.nonfinite += std::isfinite(log_ratio) ? 0 : 1;
  }
  count(accepted);
  if (!accepted) return;
  beta_ = moved;
  for_each_piece(y.rows(), pool_, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    std::copy_n(moved_piece(along, piece, end - begin), end - begin, eta_.data() + begin);
  });
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
  if (qo == 1 && qi == 1) update_outer_scale(shift);
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
  GroupScratch& w = group_scratch();
  w.noise.resize(levels);
  stream_.normals(next(), Purpose::noise, w.noise);
  for (std::size_t a = 0; a < levels; ++a) {
    slope[a] = slope[a] / precision[a] + w.noise[a] / std::sqrt(precision[a]);
    outer.effects[a * qo + shift.outer_column] += slope[a];
  }
  for (std::size_t b = 0; b < shift.parent.size(); ++b)
    inner.effects[b * qi + shift.inner_column] -= slope[shift.parent[b]];
}

}  // namespace onward::glm
