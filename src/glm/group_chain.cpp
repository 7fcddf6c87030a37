#include "group_chain.hpp"

#include <algorithm>
#include <cmath>

#include "covariance.hpp"
#include "group_scratch.hpp"
#include "onward/error.hpp"
#include "row_loop.hpp"
#include "sweeps.hpp"

namespace onward::glm {
namespace {

/// Sweeps of warm-up after which the coefficients' metric is learned from where the chain then is.
constexpr std::uint64_t metric_sweeps[] = {20, 60, 120};

}  // namespace

void TermState::derive(std::size_t q) {
  factor = correlation_factor<double>(q, std::span<const double>(correlations));
  // The inverse of S L, row by row, and its square.
  std::vector<double> sds(q), unit(q), inverse(q * q);
  for (std::size_t c = 0; c < q; ++c) sds[c] = std::exp(log_sds[c]);
  for (std::size_t c = 0; c < q; ++c) {
    std::fill(unit.begin(), unit.end(), 0.0);
    unit[c] = 1;
    standardise<double>(sds, factor, unit, std::span(inverse).subspan(c * q, q));
  }
  precision.assign(q * q, 0.0);
  for (std::size_t i = 0; i < q; ++i)
    for (std::size_t k = 0; k < q; ++k)
      for (std::size_t m = 0; m < q; ++m) precision[i * q + k] += inverse[i * q + m] * inverse[k * q + m];
}

GroupChain::GroupChain(const Shared& shared, std::uint32_t chain, std::shared_ptr<ThreadPool> pool)
    : s_(shared),
      own_pool_(std::move(pool)),
      pool_(*own_pool_),
      stream_(shared.seed, chain),
      rule_(careful_rule),
      beta_(Eigen::Map<const Vector>(shared.start.data(), index(shared.start.size()))),
      numbers_(shared.number_logs),
      precision_(shared.precision),
      coefficients_(shared.precision) {
  for (const GroupTerm& term : s_.posterior.terms()) {
    TermState& state = terms_.emplace_back();
    state.effects.assign(term.count() * term.width(), 0.0);
    state.log_sds.assign(term.width(), 0.0);
    state.correlations.assign(term.correlations(), 0.0);
    state.derive(term.width());
  }
  eta_.assign(padded_rows(s_.y().rows()), 0.0f);
}

/// Coefficients about the mode that they would have without groups; standard deviations about what is usual,
/// far apart from chain to chain; effects at 0, which the first sweeps find.
void GroupChain::start() {
  const std::size_t width = s_.start.size();
  Vector z(index(width));
  stream_.normals(0, Purpose::start, {z.data(), width});
  beta_ += 1.5 * coefficients_.matrixU().solve(z);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    std::vector<double> normals(terms_[t].log_sds.size());
    stream_.normals(1 + t, Purpose::start, normals);
    for (std::size_t c = 0; c < normals.size(); ++c)
      terms_[t].log_sds[c] = std::log(s_.typical_sds[t][c]) + 0.7 * normals[c];
    terms_[t].derive(normals.size());
  }
  refresh(false);
}

/// The predictor from what is sampled.
void GroupChain::refresh(bool check) {
  const std::size_t rows = s_.y().rows();
  const Design::Factors beta = s_.x().factors({beta_.data(), static_cast<std::size_t>(beta_.size())});
  const Floats& offset = s_.y().offset();
  std::vector<std::vector<float>> effects;
  for (const TermState& state : terms_) effects.emplace_back(state.effects.begin(), state.effects.end());
  std::vector<double> drift(pieces_of(rows), 0.0);
  for_each_piece(rows, pool_, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    float *fresh = piece_scratch().place.data(), *eta = eta_.data() + begin;
    s_.x().multiply(beta, piece, fresh);
    for (std::size_t i = begin; i < end && !offset.empty(); ++i) fresh[i - begin] += offset[i];
    for (std::size_t t = 0; t < terms_.size(); ++t) s_.rows[t].move(begin, end, fresh, effects[t].data());
    for (std::size_t i = 0; check && i < end - begin; ++i)
      drift[piece] = std::max(drift[piece], std::abs(static_cast<double>(fresh[i] - eta[i])));
    std::copy_n(fresh, end - begin, eta);
  });
  for (const double one : drift) done_.largest_drift = std::max(done_.largest_drift, one);
}

/// What holds the coefficients where the chain is now, effects given.
void GroupChain::learn_precision() {
  if (s_.y().family() == Family::gaussian) return;  // known at every step
  const auto weights = [&](std::size_t piece, std::span<float> out) {
    const std::size_t begin = piece * piece_rows;
    s_.y().row_slopes(begin, begin + out.size(), eta_.data() + begin, numbers_, nullptr, out.data());
    for (float& weight : out) weight = std::max(weight, 0.0f);
  };
  Eigen::MatrixXd precision = s_.x().gram(weights, pool_);
  for (Eigen::Index j = 0; j < precision.rows(); ++j)
    precision(j, j) += s_.posterior.population().priors()[static_cast<std::size_t>(j)].precision();
  const Eigen::LLT<Eigen::MatrixXd> factor(precision);
  if (factor.info() != Eigen::Success || !precision.allFinite()) return;
  precision_ = precision;
  coefficients_ = factor;
}

void GroupChain::apply(Move move) {
  switch (move) {
    case Move::levels:
      for (std::size_t t = 0; t < terms_.size(); ++t) update_levels(t);
      break;
    case Move::coefficients:
      update_coefficients();
      break;
    case Move::shifts:
      for (const Shift& one : s_.shifts) shift(one);
      break;
    case Move::nested:
      for (const NestedShift& one : s_.nested) shift_nested(one);
      break;
    case Move::scales:
      for (std::size_t t = 0; t < terms_.size(); ++t) update_scales(t);
      break;
    case Move::stretches:
      for (std::size_t t = 0; t < terms_.size(); ++t)
        for (std::size_t c = 0; c < terms_[t].log_sds.size(); ++c) stretch(t, c);
      break;
    case Move::correlations:
      for (std::size_t t = 0; t < terms_.size(); ++t) turn_correlations(t);
      break;
    case Move::family_numbers:
      update_family_numbers();
      break;
    case Move::tilts:
      for (const Tilt& one : s_.tilts) tilt(one);
      break;
    case Move::covariances:
      for (std::size_t t = 0; t < terms_.size(); ++t) redraw_covariance(t);
      break;
  }
}

void GroupChain::sweep() {
  ++number_;
  drawn_ = 0;
  constexpr double anywhere = 7;  // widths
  rule_ = !frozen_ || number_ % careful_every == 0 ? careful_rule : Rule{s_.settings.relaxation, 0, anywhere};
  using enum Move;
  for (const Move move :
       {levels, coefficients, shifts, nested, scales, stretches, correlations, family_numbers})
    apply(move);
  if (s_.far) apply(covariances), apply(tilts);
  if (!frozen_ && std::ranges::find(metric_sweeps, number_) != std::end(metric_sweeps)) learn_precision();
  if (number_ % s_.settings.refresh_every == 0) refresh(true);
}

std::uint64_t GroupChain::advance(std::uint64_t steps, Monitor& monitor) {
  return advance_by_sweeps(steps, stride(), monitor, done_, acceptance_, [&] { sweep(); });
}

const std::vector<double>& GroupChain::place() {
  const MixedLayout& at = s_.posterior.layout();
  position_.resize(at.dimension);
  const auto put = [&](std::size_t first, const auto& values) {
    std::copy(values.begin(), values.end(), position_.begin() + static_cast<std::ptrdiff_t>(first));
  };
  put(0, beta_);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    put(at.sds[t], terms_[t].log_sds);
    put(at.correlations[t], terms_[t].correlations);
    put(at.effects[t], terms_[t].effects);
  }
  std::size_t next = at.numbers;
  for (const std::size_t i : s_.posterior.population().sampled_numbers()) position_[next++] = numbers_.log(i);
  return position_;
}

void GroupChain::set_place(VectorView theta) {
  const MixedLayout& at = s_.posterior.layout();
  const auto take = [&](std::size_t first, auto& values) {
    std::copy_n(theta.begin() + static_cast<std::ptrdiff_t>(first), values.size(), values.begin());
  };
  take(0, beta_);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    take(at.sds[t], terms_[t].log_sds);
    take(at.correlations[t], terms_[t].correlations);
    take(at.effects[t], terms_[t].effects);
    terms_[t].derive(terms_[t].log_sds.size());
  }
  std::size_t from = at.numbers;
  for (const std::size_t i : s_.posterior.population().sampled_numbers()) numbers_.set_log(i, theta[from++]);
  refresh(false);
}

double GroupChain::draw(std::span<double> out) {
  place();
  s_.posterior.constrain(position_, out);
  return s_.y().constant(numbers_) + s_.y().sums({.eta = eta_.data(), .numbers = numbers_}, pool_).value +
         s_.posterior.log_prior(position_);
}

ChainReport GroupChain::report() const {
  ChainReport report;
  report.counts.curvatures = done_.passes;
  report.counts.nonfinite = done_.nonfinite;
  report.largest_drift = done_.largest_drift;
  return report;
}

/// The predictor is computed from the rest where a chain may be saved.
void GroupChain::transfer(Archive& archive) {
  std::vector<double> logs = numbers_.logs();
  archive(number_, frozen_, acceptance_, logs, done_.updates, done_.accepted, done_.passes, done_.nonfinite,
          done_.largest_drift, beta_, precision_);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    TermState& state = terms_[t];
    const std::size_t size = state.effects.size();
    archive(state.effects, state.log_sds, state.correlations, state.log_step, state.steps_adapted);
    if (state.effects.size() != size)
      throw Error("the saved state of a chain is of a regression with other groups");
    if (archive.loading()) state.derive(state.log_sds.size());
  }
  if (!archive.loading()) return;
  numbers_ = FamilyNumbers(std::move(logs));
  if (static_cast<std::size_t>(beta_.size()) != s_.start.size())
    throw Error("the saved state of a chain is of a regression with other columns");
  coefficients_.compute(precision_);
  refresh(false);
}

}  // namespace onward::glm
