#include "axis_chain.hpp"

#include <algorithm>
#include <cmath>

#include "onward/error.hpp"
#include "onward/glm/softmax.hpp"
#include "sweeps.hpp"

namespace onward::glm {
namespace {

constexpr std::size_t joint_moves = 2;  // of sigma and coefficients, where they are coupled

}  // namespace

using Vector = AxisChain::Vector;

AxisChain::AxisChain(const Shared& shared, std::uint32_t chain, std::shared_ptr<ThreadPool> pool)
    : s_(shared),
      own_pool_(std::move(pool)),
      pool_(*own_pool_),
      stream_(shared.seed, chain),
      rule_(careful_rule) {
  const std::size_t width = s_.width(), classes = s_.classes();
  beta_.assign(classes, Vector::Zero(index(width)));
  prior_slopes_.assign(classes, Vector::Zero(index(width)));
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t j = 0; j < width; ++j) beta_[k][index(j)] = s_.centre[k * width + j];
  numbers_ = FamilyNumbers(s_.numbers.logs());
  eta_.assign(classes * s_.stride(), 0.0f);
  moved_.assign(s_.stride(), 0.0f);
  if (classes > 1) odds_ = others_ = moved_;
  first_of_numbers_ = width * classes + (classes > 1 ? width : 0);
  const Observations& y = s_.posterior.observations();
  // With many more rows than columns the coefficients say little of sigma.
  coupled_ = y.family() == Family::gaussian && s_.posterior.samples_numbers() && 4 * width >= y.rows();
  const std::size_t sampled = s_.posterior.sampled_numbers().size();
  first_of_joint_ = first_of_numbers_ + 2 * std::max<std::size_t>(sampled * number_moves(sampled), 3);
  const std::size_t draws = first_of_joint_ + (coupled_ ? 2 * joint_moves : 0);
  noise_.resize(draws);
  uniforms_.resize(draws);
}

/// From the centre by normal noise of so many widths, or less: where the posterior is far from normal, such a
/// place may be so improbable that no chain would find back from it.
void AxisChain::start(double spread) {
  refresh(false);
  if (spread == 0) return;
  const std::size_t width = s_.width();
  std::vector<double> z(width);
  std::vector<Vector> steps;
  const std::vector<Vector> centre = beta_;
  for (std::size_t k = 0; k < beta_.size(); ++k) {
    stream_.normals(k, Purpose::start, z);
    steps.emplace_back(s_.whitening.to_coefficients.triangularView<Eigen::Upper>() *
                       Eigen::Map<const Vector>(z.data(), index(width)));
  }
  const double at_centre = log_density();
  constexpr double least_spread = 1e-3;
  for (; spread > least_spread; spread /= 2) {
    for (std::size_t k = 0; k < beta_.size(); ++k) beta_[k] = centre[k] + spread * steps[k];
    refresh(false);
    // A normal density would fall by half of that on average.
    const double expected = spread * spread * static_cast<double>(width * beta_.size());
    if (at_centre - log_density() < 20 + 2 * expected) return;
  }
  beta_ = centre;
  refresh(false);
}

void AxisChain::set_prior_slopes() {
  for (std::size_t k = 0; k < beta_.size(); ++k)
    for (std::size_t j = 0; j < s_.width(); ++j)
      prior_slopes_[k][index(j)] = s_.posterior.priors()[j].at(beta_[k][index(j)]).slope;
}

/// The predictor from the coefficients, by way of the whitened columns.
void AxisChain::refresh(bool check) {
  const std::size_t width = s_.width(), stride = s_.stride(), rows = s_.posterior.observations().rows();
  Floats fresh(eta_.size());
  for (std::size_t k = 0; k < beta_.size(); ++k) {
    const Vector from_centre =
        beta_[k] - Eigen::Map<const Vector>(s_.centre.data() + k * width, index(width));
    const Vector u = s_.whitening.from_coefficients.triangularView<Eigen::Upper>() * from_centre;
    s_.columns->multiply({u.data(), width}, s_.base.data() + k * stride, fresh.data() + k * stride, pool_);
  }
  if (check)
    for (std::size_t k = 0; k < beta_.size(); ++k)
      for (std::size_t i = 0; i < rows; ++i) {
        // With several classes only differences count: moves of all together are left out of the cache.
        const auto relative = [&](const Floats& eta) {
          const double here = eta[k * stride + i];
          return beta_.size() > 1 ? here - static_cast<double>(eta[i]) : here;
        };
        done_.largest_drift = std::max(done_.largest_drift, std::abs(relative(fresh) - relative(eta_)));
      }
  eta_ = std::move(fresh);
  eta_stale_ = weight_known_ = false;
  set_prior_slopes();
}

/// The log prior along axis j of class k, alpha away from the present place; value relative to here.
Jet AxisChain::prior_along(std::size_t k, std::size_t j, double alpha) const {
  const auto axis = s_.whitening.to_coefficients.col(index(j)).head(index(j) + 1);
  if (s_.normal_priors) {
    const double slope = axis.dot(prior_slopes_[k].head(index(j) + 1)), curvature = s_.axis_curvature[j];
    return {alpha * (slope + 0.5 * alpha * curvature), slope + alpha * curvature, curvature};
  }
  Jet sum;
  for (Eigen::Index i = 0; i <= index(j); ++i) {
    const Prior& prior = s_.posterior.priors()[static_cast<std::size_t>(i)];
    const Jet jet = prior.at(beta_[k][i] + alpha * axis[i]);
    sum.value += jet.value - prior.at(beta_[k][i]).value;
    sum.slope += jet.slope * axis[i];
    sum.curvature += prior.touching_curvature(beta_[k][i] + alpha * axis[i]) * axis[i] * axis[i];
  }
  return sum;
}

void AxisChain::sweep_axes(const Observations& y, std::size_t k, Floats& eta) {
  const PanelColumns& x = *s_.columns;
  const std::size_t width = s_.width();
  LineSums here = y.sums({.eta = eta.data(),
                          .next = x.column(0),
                          .numbers = numbers_,
                          .curvature = Curvature::touching,
                          .stride = x.stride()},
                         pool_);
  value_ = here.value;
  for (std::size_t j = 0; j < width; ++j) {
    const float* next = j + 1 < width ? x.column(j + 1) : nullptr;
    const std::size_t draw = k * width + j;
    const Jet prior_here = prior_along(k, j, 0);
    bool floored = false, floored_there = false;
    const Proposal forward =
        propose({value_, here.next_slope + prior_here.slope, here.next_curvature + prior_here.curvature},
                rule_, floored);
    // Rounded to the float that moves the predictor, so that coefficients and predictor agree.
    const auto alpha = static_cast<float>(forward.mean + forward.sd * noise_[draw]);
    const double a = static_cast<double>(alpha);
    const LineSums there = y.sums({.eta = eta.data(),
                                   .d = x.column(j),
                                   .alpha = alpha,
                                   .next = next,
                                   .moved = moved_.data(),
                                   .numbers = numbers_,
                                   .curvature = Curvature::touching,
                                   .stride = x.stride()},
                                  pool_);
    const Jet prior_there = prior_along(k, j, a);
    const Proposal back =
        propose({there.value, there.slope + prior_there.slope, there.curvature + prior_there.curvature},
                rule_, floored_there);
    const double log_ratio =
        (there.value - value_) + prior_there.value + log_normal(-a, back) - log_normal(a, forward);
    ++done_.updates;
    done_.floored += floored || floored_there ? 1 : 0;
    const bool finite =
        std::isfinite(log_ratio) && std::isfinite(there.next_slope) && std::isfinite(there.next_curvature);
    done_.nonfinite += finite ? 0 : 1;
    if (finite && accepts(log_ratio, draw)) {
      ++done_.accepted;
      eta.swap(moved_);
      value_ = there.value;
      here = there;
      const auto axis = s_.whitening.to_coefficients.col(index(j)).head(index(j) + 1);
      beta_[k].head(index(j) + 1) += a * axis;
      if (s_.normal_priors)
        prior_slopes_[k].head(index(j) + 1) -= a * axis.cwiseProduct(s_.precisions.head(index(j) + 1));
    } else if (next) {
      ++done_.again;
      here = y.sums({.eta = eta.data(),
                     .next = next,
                     .numbers = numbers_,
                     .curvature = Curvature::touching,
                     .stride = x.stride()},
                    pool_);
    }
  }
}

void AxisChain::sweep_classes() {
  const Observations& y = s_.posterior.observations();
  const std::size_t stride = s_.stride();
  for (std::size_t k = 0; k < beta_.size(); ++k) {
    class_odds(y, eta_.data(), k, odds_.data(), others_.data(), pool_);
    sweep_axes(s_.against_rest[k], k, odds_);
    float* eta = eta_.data() + k * stride;
    for (std::size_t i = 0; i < y.rows(); ++i) eta[i] = odds_[i] + others_[i];
  }
  move_classes_together();
}

/// Adds one vector to the coefficients of every class. The likelihood does not change, and with normal priors
/// the mean over classes is drawn from its own normal, coefficient by coefficient.
void AxisChain::move_classes_together() {
  const std::size_t width = s_.width(), first = width * beta_.size();
  const auto classes = static_cast<double>(beta_.size());
  for (std::size_t j = 0; j < width; ++j) {
    const Prior& prior = s_.posterior.priors()[j];
    if (prior.kind == Prior::Kind::flat) continue;
    const auto jet = [&](double alpha) {
      Jet sum;
      for (const Vector& beta : beta_) {
        const Jet one = prior.at(beta[index(j)] + alpha);
        sum.value += one.value, sum.slope += one.slope;
        sum.curvature += prior.touching_curvature(beta[index(j)] + alpha);
      }
      return sum;
    };
    double alpha;
    if (prior.kind == Prior::Kind::normal) {
      double mean = 0;
      for (const Vector& beta : beta_) mean += beta[index(j)] / classes;
      alpha = prior.location - mean + prior.scale / std::sqrt(classes) * noise_[first + j];
    } else {
      bool floored = false;
      const Jet here = jet(0);
      const Proposal forward = propose(here, careful_rule, floored);
      alpha = forward.mean + forward.sd * noise_[first + j];
      const Jet there = jet(alpha);
      const Proposal back = propose(there, careful_rule, floored);
      const double log_ratio =
          there.value - here.value + log_normal(-alpha, back) - log_normal(alpha, forward);
      if (!accepts(log_ratio, first + j)) alpha = 0;
    }
    for (Vector& beta : beta_) beta[index(j)] += alpha;
  }
  set_prior_slopes();
}

void AxisChain::update_numbers() {
  const Observations& y = s_.posterior.observations();
  const std::size_t moves = number_moves(s_.posterior.sampled_numbers().size());
  std::size_t draw = first_of_numbers_;
  for (const std::size_t i : s_.posterior.sampled_numbers()) {
    const NumberJets jets(y, eta_.data(), pool_, numbers_, i, y.sum_at_unit_scale(value_, numbers_));
    const auto jet = [&](double log) { return sum_of(jets(log), s_.posterior.number_prior_at(i, log)); };
    double log = numbers_.log(i);
    Jet here = jet(log);
    for (std::size_t move = 0; move < moves; ++move, draw += 2)
      move_number(log, here, jet, noise_[draw], uniforms_[draw + 1], uniforms_[draw]);
    numbers_.set_log(i, log);
  }
}

/// With about as many columns as rows, sigma is held by the residuals and the residuals by sigma, and neither
/// moves far alone. Here log sigma moves by delta and with it every axis is stretched about the centre by
/// e^(w delta), w being the share of the data in what holds that axis: a map with a known Jacobian, undone by
/// -delta.
void AxisChain::move_scale_and_coefficients() {
  const Observations& y = s_.posterior.observations();
  const std::size_t width = s_.width();
  Vector& beta = beta_[0];
  const Eigen::Map<const Vector> centre(s_.centre.data(), index(width));
  const auto log_density_at = [&](const Vector& place, const Floats& eta, const FamilyNumbers& numbers) {
    double sum = y.constant(numbers) + y.sums({.eta = eta.data(), .numbers = numbers}, pool_).value +
                 s_.posterior.number_prior_at(0, numbers.log(0)).value;
    for (std::size_t j = 0; j < width; ++j) sum += s_.posterior.priors()[j].at(place[index(j)]).value;
    return sum;
  };
  double here = log_density_at(beta, eta_, numbers_);
  for (std::size_t move = 0; move < joint_moves; ++move) {
    const std::size_t draw = first_of_joint_ + 2 * move;
    constexpr double narrowest = 0.02, widest = 1;
    const double delta =
        noise_[draw] * narrowest * std::pow(widest / narrowest, uniforms_[draw + 1]);  // of any width
    Vector u = s_.whitening.from_coefficients.triangularView<Eigen::Upper>() * (beta - centre);
    double log_jacobian = 0;
    for (std::size_t j = 0; j < width; ++j) {
      const double share = std::clamp(1 + s_.axis_curvature[j], 0.0, 1.0);
      u[index(j)] *= std::exp(share * delta);
      log_jacobian += share * delta;
    }
    const Vector place = centre + s_.whitening.to_coefficients.triangularView<Eigen::Upper>() * u;
    Floats eta(eta_.size(), 0.0f);
    s_.columns->multiply({u.data(), width}, s_.base.data(), eta.data(), pool_);
    FamilyNumbers numbers = numbers_;
    numbers.set_log(0, numbers.log(0) + delta);
    const double there = log_density_at(place, eta, numbers);
    const double log_ratio = there - here + log_jacobian;
    if (!std::isfinite(log_ratio) || !accepts(log_ratio, draw)) continue;
    beta = place;
    eta_ = std::move(eta);
    numbers_ = std::move(numbers);
    here = there;
  }
  set_prior_slopes();
}

void AxisChain::sweep(bool is_warmup) {
  ++number_;
  if (!along_axes(number_)) {
    sweep_block();
    // A predictor that is stale will be computed from the coefficients, when somebody asks for it.
    if (number_ % s_.settings.refresh_every == 0 && !eta_stale_) refresh(false);
    return;
  }
  if (eta_stale_) refresh(false);
  weight_known_ = false;
  constexpr double anywhere = 1e300;
  rule_ = is_warmup || number_ % careful_every == 0
              ? careful_rule
              : Rule{s_.settings.relaxation, s_.settings.curvature_floor, anywhere};
  stream_.normals(number_, Purpose::noise, noise_);
  stream_.uniforms(number_, Purpose::accept, uniforms_);
  if (beta_.size() > 1)
    sweep_classes();
  else
    sweep_axes(s_.posterior.observations(), 0, eta_);
  if (s_.posterior.samples_numbers()) update_numbers();
  if (coupled_) move_scale_and_coefficients();
  if (number_ % s_.settings.refresh_every == 0) refresh(true);
}

double AxisChain::log_density() { return weight_known_ ? density_ : density_from_rows(); }

double AxisChain::density_from_rows() {
  const Observations& y = s_.posterior.observations();
  double sum = y.constant(numbers_);
  if (beta_.size() > 1)
    sum += softmax_sums(y, {.eta = eta_.data()}, pool_).value;
  else
    sum += y.sums({.eta = eta_.data(), .numbers = numbers_}, pool_).value;
  for (const Vector& beta : beta_)
    for (std::size_t j = 0; j < s_.width(); ++j) sum += s_.posterior.priors()[j].at(beta[index(j)]).value;
  for (const std::size_t i : s_.posterior.sampled_numbers())
    sum += s_.posterior.number_prior_at(i, numbers_.log(i)).value;
  return sum;
}

double AxisChain::draw(std::span<double> out) {
  const std::size_t width = s_.width();
  position_.resize(out.size());
  for (std::size_t k = 0; k < beta_.size(); ++k)
    std::copy(beta_[k].begin(), beta_[k].end(), position_.begin() + static_cast<std::ptrdiff_t>(k * width));
  std::size_t next = s_.posterior.coefficients();
  for (const std::size_t i : s_.posterior.sampled_numbers()) position_[next++] = numbers_.log(i);
  s_.posterior.constrain(position_, out);
  return log_density();
}

std::uint64_t AxisChain::advance(std::uint64_t steps, Monitor& monitor) {
  return advance_by_sweeps(steps, stride(), monitor, done_, acceptance_, [&] { sweep(!frozen_); });
}

ChainReport AxisChain::report() const {
  ChainReport report;
  report.counts.curvatures = done_.again;
  report.counts.values = done_.blocks;
  report.counts.curvature_pairs = done_.updates - done_.blocks;  // along the axis that moves and the next one
  report.counts.nonfinite = done_.nonfinite;
  report.floored = done_.floored;
  report.largest_drift = done_.largest_drift;
  return report;
}

/// Where the predictor has just been computed from the coefficients, or would be before it is used, these are
/// nearly all that there is to it: a weight from a batch has other bits than one from the predictor.
void AxisChain::transfer(Archive& archive) {
  std::vector<double> logs = numbers_.logs();
  double density = density_, weight = weight_;
  bool known = weight_known_, stale = eta_stale_;
  archive(number_, frozen_, acceptance_, logs, done_.updates, done_.blocks, done_.again, done_.accepted,
          done_.floored, done_.nonfinite, done_.largest_drift, density, weight, known, stale);
  for (Vector& beta : beta_) {
    archive(beta);
    if (static_cast<std::size_t>(beta.size()) != s_.width())
      throw Error("the saved state of a chain is of a regression with other columns");
  }
  if (!archive.loading()) return;
  numbers_ = FamilyNumbers(std::move(logs));
  refresh(false);
  density_ = density, weight_ = weight, weight_known_ = known, eta_stale_ = stale;
}

}  // namespace onward::glm
