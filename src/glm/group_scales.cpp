// The moves of standard deviations, correlations and the family's numbers.

#include <algorithm>
#include <cmath>

#include "covariance.hpp"
#include "group_chain.hpp"
#include "group_scratch.hpp"
#include "row_loop.hpp"

namespace onward::glm {

/// The standard deviation of the outer term with the outer effects integrated out, given the sums of outer
/// and inner effects, which the move leaves as they are; for terms of one column each. The draw of the outer
/// effects that follows completes it.
void GroupChain::update_outer_scale(const NestedShift& shift) {
  TermState &outer = terms_[shift.outer], &inner = terms_[shift.inner];
  const std::size_t levels = s_.posterior.terms()[shift.outer].count();
  std::vector<double> sums(levels, 0.0), counts(levels, 0.0);
  for (std::size_t b = 0; b < shift.parent.size(); ++b) {
    sums[shift.parent[b]] += inner.effects[b] + outer.effects[shift.parent[b]];
    counts[shift.parent[b]] += 1;
  }
  const double inner_precision = inner.precision[0];
  const Prior& prior = s_.posterior.priors()[shift.outer].sds[0];
  const auto jet = [&](double log_sd) {
    // By x = log sd: with p = e^(-2 x), the sum over levels of (S t)^2 / (2 (n t + p)) - log(1 + n t / p)
    // / 2.
    Jet sum = prior.at_log(log_sd);
    const double p = std::exp(-2 * log_sd);
    for (std::size_t a = 0; a < levels; ++a) {
      const double nt = counts[a] * inner_precision, st = sums[a] * inner_precision, d = nt + p;
      const double share = p / d;  // its derivative by x is -2 share (1 - share)
      sum.value += 0.5 * st * st / d - 0.5 * std::log1p(nt / p);
      const double first = st * st / d * share - (1 - share);
      sum.slope += first;
      const double turn = -2 * share * (1 - share);
      sum.curvature += st * st / d * (2 * share * share + turn) + turn;
    }
    return sum;
  };
  Jet here = jet(outer.log_sds[0]);
  constexpr int moves = 2;
  for (int move = 0; move < moves; ++move) {
    const double noise = normal(), choice = uniform(), test = uniform();
    count(move_number(outer.log_sds[0], here, jet, noise, choice, test));
  }
  outer.derive(1);
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
  std::vector<float> effects(rows.term().count());
  for (std::size_t l = 0; l < effects.size(); ++l)
    effects[l] = static_cast<float>(state.effects[l * q + column]);
  const auto direction = [&](std::size_t begin, std::size_t end) {
    float* d = piece_scratch().direction.data();
    rows.direction(column, effects, begin, end, d);
    return d;
  };
  const auto sums_at = [&](float alpha) {
    ++done_.passes;
    return y.sums(
        [&](std::size_t begin, std::size_t end, RowLine& line) {
          line.eta = eta_.data() + begin;
          line.d = direction(begin, end);
          line.alpha = alpha;
        },
        numbers_, pool_);
  };
  // Along d, which the effects add to the predictor, a stretch by e^delta goes as far as alpha = e^delta - 1.
  const auto by_delta = [&](const LineSums& sums, double alpha) {
    const double grown = 1 + alpha;
    const Jet sd = prior.at_log(state.log_sds[column] + std::log1p(alpha));
    return Jet{sums.value + sd.value, sums.slope * grown + sd.slope,
               sums.curvature * grown * grown + sums.slope * grown + sd.curvature};
  };
  const LineSums at = sums_at(0);
  const Jet here = by_delta(at, 0);
  const Proposal forward = propose_scale(here);
  const auto alpha = static_cast<float>(std::expm1(forward.mean + forward.sd * normal()));
  const double a = static_cast<double>(alpha), delta = std::log1p(a), test = uniform();
  LineSums moved;
  if (y.family() == Family::gaussian)  // a quadratic, known from one place
    moved = {at.value + a * (at.slope + 0.5 * a * at.curvature), at.slope + a * at.curvature, at.curvature};
  else
    moved = sums_at(alpha);
  const Jet there = by_delta(moved, a);
  const Proposal back = propose_scale(there);
  const double log_ratio = there.value - here.value + log_normal(-delta, back) - log_normal(delta, forward);
  const bool accepted = std::isfinite(log_ratio) && std::log(test) < log_ratio;
  count(accepted);
  if (!accepted) return;
  for_each_piece(y.rows(), pool_, [&](std::size_t, std::size_t begin, std::size_t end) {
    const float* d = direction(begin, end);
    for (std::size_t i = begin; i < end; ++i) eta_[i] = simd::mul_add(alpha, d[i - begin], eta_[i]);
  });
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
  GroupScratch& w = group_scratch();
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
  const Observations& y = s_.y();
  const auto turned_rows = [&](std::size_t begin, std::size_t end, RowLine& line) {
    float* place = piece_scratch().place.data();
    std::copy_n(eta_.data() + begin, end - begin, place);
    rows.move(begin, end, place, w.delta.data());
    line.eta = place;
  };
  log_ratio += y.sums(turned_rows, numbers_, pool_).value -
               y.sums({.eta = eta_.data(), .numbers = numbers_}, pool_).value;
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
  rows.move(eta_.data(), w.delta.data(), pool_);
  for (std::size_t i = 0; i < w.delta.size(); ++i) state.effects[i] += static_cast<double>(w.delta[i]);
  state.correlations = turned.correlations;
  state.derive(q);
}

void GroupChain::update_family_numbers() {
  const RegressionPosterior& population = s_.posterior.population();
  const Observations& y = s_.y();
  const std::size_t moves = number_moves(population.sampled_numbers().size());
  for (const std::size_t i : population.sampled_numbers()) {
    const NumberJets jets(y, eta_.data(), pool_, numbers_, i);
    const auto jet = [&](double log) {
      ++done_.passes;
      return sum_of(jets(log), population.number_prior_at(i, log));
    };
    double log = numbers_.log(i);
    Jet here = jet(log);
    for (std::size_t move = 0; move < moves; ++move) {
      const double noise = normal(), choice = uniform(), test = uniform();
      count(move_number(log, here, jet, noise, choice, test));
    }
    numbers_.set_log(i, log);
  }
}

}  // namespace onward::glm
