#include "onward/glm/axis_sampler.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/glm/softmax.hpp"
#include "onward/random/stream.hpp"

namespace onward::glm {
namespace {

/// The newton-line proposal from a jet: N(mean, sd^2).
struct Proposal {
  double mean, sd;
};

/// How a jet becomes a proposal; the same rule both ways, whichever it is.
struct Rule {
  double relaxation;  ///< c
  double floor;       ///< kappa
  double longest;     ///< widths that the mean of a proposal may be away
};

/// For places far from the mode. The plain rule jumps from there straight to the mode, which the way back
/// hardly ever does, so that its proposals are all rejected; steps of a few widths are taken back often
/// enough.
constexpr Rule careful{1.0, 0.02, 2.5};
/// One sweep in so many goes by the careful rule, so that no chain stays where the other cannot move it.
constexpr std::uint64_t careful_every = 10;

Proposal propose(const Jet& jet, const Rule& rule, bool& floored) {
  const double curvature = std::abs(jet.curvature), least = rule.floor * jet.slope * jet.slope;
  floored = curvature < least;
  double h = std::max(curvature, least);
  if (h == 0) h = 1, floored = true;
  const double width = 1 / std::sqrt(h);
  return {rule.relaxation * std::clamp(jet.slope / h, -rule.longest * width, rule.longest * width),
          std::sqrt(rule.relaxation * (2 - rule.relaxation)) * width};
}

/// Updates of log sigma or log phi a sweep, and their rule: its conditional is skewed, and an update cheap.
constexpr std::size_t scale_moves = 3;
constexpr std::size_t joint_moves = 2;  // of sigma and coefficients, where they are coupled
constexpr Rule scale_rule{1.0, 0.1, 2.5};

double log_normal(double x, const Proposal& p) {
  const double z = (x - p.mean) / p.sd;
  return -0.5 * z * z - std::log(p.sd);
}

}  // namespace

/// What chains share and never change.
struct AxisChainMaker::Shared {
  Posterior posterior;
  AxisOptions settings;
  std::uint64_t seed = 1;
  std::vector<std::string> names, warnings;
  std::vector<double> centre;  // coefficients, class after class
  double log_scale = 0;
  std::optional<PanelColumns> columns;
  Whitening whitening;
  Floats base;                             // the predictor at the centre, class after class, offset included
  std::vector<Observations> against_rest;  // categorical: one a class
  bool normal_priors = true;
  Eigen::VectorXd precisions;          // of the priors
  std::vector<double> axis_curvature;  // of the normal priors along each axis

  std::size_t width() const { return posterior.design().columns(); }
  std::size_t classes() const { return posterior.observations().classes(); }
  std::size_t stride() const { return padded_rows(posterior.observations().rows()); }

  void prepare_priors();
  void use(const Whitening& w, std::span<const double> at, ThreadPool& pool, bool last);
};

namespace {

using Vector = Eigen::VectorXd;
Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

}  // namespace

/// One chain: its coefficients, its cached predictor and its random numbers.
class AxisChain final : public Chain {
 public:
  using Shared = AxisChainMaker::Shared;
  AxisChain(const Shared& shared, std::uint32_t chain, std::shared_ptr<ThreadPool> pool);

  std::size_t stride() const override { return s_.posterior.dimension(); }
  std::uint64_t saved_every() const override { return s_.settings.refresh_every * stride(); }
  void start() override { start(s_.settings.start_spread); }
  std::uint64_t advance(std::uint64_t steps, Monitor& monitor) override;
  void freeze() override { frozen_ = true; }
  double take_acceptance() override { return std::exchange(acceptance_, 0.0); }
  double draw(std::span<double> out) override;
  ChainReport report() const override;
  void transfer(Archive& archive) override;

  void start(double spread);
  /// One update along every axis; `is_warmup`: by the careful rule.
  void sweep(bool is_warmup);
  void refresh(bool check);
  double log_density();
  const Vector& coefficients(std::size_t k) const { return beta_[k]; }
  const float* predictor() const { return eta_.data(); }

 private:
  const Shared& s_;
  std::shared_ptr<ThreadPool> own_pool_;
  ThreadPool& pool_;
  Stream stream_;
  std::uint64_t number_ = 0;  // of the sweep
  bool frozen_ = false;       // warm-up is over
  double acceptance_ = 0;     // since it was taken, counted in steps
  struct {
    std::uint64_t updates = 0, again = 0, accepted = 0, floored = 0, nonfinite = 0;
    double largest_drift = 0;
  } done_;
  std::vector<Vector> beta_;
  std::vector<Vector> prior_slopes_;  // derivative of the log prior by each coefficient (normal priors)
  Rule rule_ = careful;               // of this sweep
  double log_scale_ = 0;
  double value_ = 0;                // sum over rows at the present place
  std::size_t first_of_scale_ = 0;  // of the random numbers of a sweep
  bool coupled_ = false;            // sigma and the coefficients
  Floats eta_, odds_, moved_, others_;
  std::vector<double> noise_, uniforms_;

  double scale() const { return std::exp(log_scale_); }
  void set_prior_slopes();
  Jet prior_along(std::size_t k, std::size_t j, double alpha) const;
  void sweep_axes(const Observations& y, std::size_t k, Floats& eta);
  void sweep_classes();
  void move_classes_together();
  void move_scale_and_coefficients();
  void update_scale();
  bool accepts(double log_ratio, std::size_t draw) const { return std::log(uniforms_[draw]) < log_ratio; }
};

AxisChain::AxisChain(const Shared& shared, std::uint32_t chain, std::shared_ptr<ThreadPool> pool)
    : s_(shared), own_pool_(std::move(pool)), pool_(*own_pool_), stream_(shared.seed, chain) {
  const std::size_t width = s_.width(), classes = s_.classes();
  beta_.assign(classes, Vector::Zero(index(width)));
  prior_slopes_.assign(classes, Vector::Zero(index(width)));
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t j = 0; j < width; ++j) beta_[k][index(j)] = s_.centre[k * width + j];
  log_scale_ = s_.log_scale;
  eta_.assign(classes * s_.stride(), 0.0f);
  moved_.assign(s_.stride(), 0.0f);
  if (classes > 1) odds_ = others_ = moved_;
  first_of_scale_ = width * classes + (classes > 1 ? width : 0);
  const Observations& y = s_.posterior.observations();
  // With many more rows than columns the coefficients say little of sigma.
  coupled_ = y.family() == Family::gaussian && s_.posterior.samples_scale() && 4 * width >= y.rows();
  const std::size_t draws = first_of_scale_ + 2 * scale_moves + (coupled_ ? 2 * joint_moves : 0);
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
  const double sigma = scale();
  LineSums here =
      y.sums({.eta = eta.data(), .next = x.column(0), .scale = sigma, .stride = x.stride()}, pool_);
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
                                   .scale = sigma,
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
      here = y.sums({.eta = eta.data(), .next = next, .scale = sigma, .stride = x.stride()}, pool_);
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
      const Proposal forward = propose(here, careful, floored);
      alpha = forward.mean + forward.sd * noise_[first + j];
      const Jet there = jet(alpha);
      const Proposal back = propose(there, careful, floored);
      const double log_ratio =
          there.value - here.value + log_normal(-alpha, back) - log_normal(alpha, forward);
      if (!accepts(log_ratio, first + j)) alpha = 0;
    }
    for (Vector& beta : beta_) beta[index(j)] += alpha;
  }
  set_prior_slopes();
}

void AxisChain::update_scale() {
  const Observations& y = s_.posterior.observations();
  const double squares = -2 * value_ * scale() * scale();  // gaussian
  const auto jet = [&](double log_scale) {
    const Jet rows = y.family() == Family::gaussian ? y.sigma_jet(squares, log_scale)
                                                    : y.dispersion_jet(eta_.data(), log_scale, pool_);
    const Jet prior = s_.posterior.scale_prior().at_log(log_scale);
    return Jet{rows.value + prior.value, rows.slope + prior.slope, rows.curvature + prior.curvature};
  };
  Jet here = jet(log_scale_);
  for (std::size_t move = 0; move < scale_moves; ++move) {
    const std::size_t draw = first_of_scale_ + 2 * move;
    bool floored = false, floored_there = false;
    Proposal forward = propose(here, scale_rule, floored);
    // One move in ten is a plain one of random width, the same both ways: tails of a log scale are nearly
    // flat.
    const double choice = uniforms_[draw + 1];
    const bool plain = choice < 0.1;
    if (plain) forward = {0, 0.1 * std::exp(46 * choice)};
    const double alpha = forward.mean + forward.sd * noise_[draw];
    const Jet there = jet(log_scale_ + alpha);
    const Proposal back = plain ? forward : propose(there, scale_rule, floored_there);
    const double log_ratio = there.value - here.value + log_normal(-alpha, back) - log_normal(alpha, forward);
    if (!std::isfinite(log_ratio) || !accepts(log_ratio, draw)) continue;
    log_scale_ += alpha;
    here = there;
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
  const auto log_density_at = [&](const Vector& place, const Floats& eta, double log_scale) {
    const double sigma = std::exp(log_scale);
    double sum = y.constant(sigma) + y.sums({.eta = eta.data(), .scale = sigma}, pool_).value +
                 s_.posterior.scale_prior().at_log(log_scale).value;
    for (std::size_t j = 0; j < width; ++j) sum += s_.posterior.priors()[j].at(place[index(j)]).value;
    return sum;
  };
  double here = log_density_at(beta, eta_, log_scale_);
  for (std::size_t move = 0; move < joint_moves; ++move) {
    const std::size_t draw = first_of_scale_ + 2 * (scale_moves + move);
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
    const double there = log_density_at(place, eta, log_scale_ + delta);
    const double log_ratio = there - here + log_jacobian;
    if (!std::isfinite(log_ratio) || !accepts(log_ratio, draw)) continue;
    beta = place;
    eta_ = std::move(eta);
    log_scale_ += delta;
    here = there;
  }
  set_prior_slopes();
}

void AxisChain::sweep(bool is_warmup) {
  ++number_;
  constexpr double anywhere = 1e300;
  rule_ = is_warmup || number_ % careful_every == 0
              ? careful
              : Rule{s_.settings.relaxation, s_.settings.curvature_floor, anywhere};
  stream_.normals(number_, Purpose::noise, noise_);
  stream_.uniforms(number_, Purpose::accept, uniforms_);
  if (beta_.size() > 1)
    sweep_classes();
  else
    sweep_axes(s_.posterior.observations(), 0, eta_);
  if (s_.posterior.samples_scale()) update_scale();
  if (coupled_) move_scale_and_coefficients();
  if (number_ % s_.settings.refresh_every == 0) refresh(true);
}

double AxisChain::log_density() {
  const Observations& y = s_.posterior.observations();
  double sum = y.constant(scale());
  if (beta_.size() > 1)
    sum += softmax_sums(y, {.eta = eta_.data()}, pool_).value;
  else
    sum += y.sums({.eta = eta_.data(), .scale = scale()}, pool_).value;
  for (const Vector& beta : beta_)
    for (std::size_t j = 0; j < s_.width(); ++j) sum += s_.posterior.priors()[j].at(beta[index(j)]).value;
  if (s_.posterior.samples_scale()) sum += s_.posterior.scale_prior().at_log(log_scale_).value;
  return sum;
}

double AxisChain::draw(std::span<double> out) {
  const std::size_t width = s_.width();
  for (std::size_t k = 0; k < beta_.size(); ++k)
    std::copy(beta_[k].begin(), beta_[k].end(), out.begin() + static_cast<std::ptrdiff_t>(k * width));
  if (s_.posterior.samples_scale()) out.back() = log_scale_;
  s_.posterior.constrain(out, out);
  return log_density();
}

std::uint64_t AxisChain::advance(std::uint64_t steps, Monitor& monitor) {
  for (std::uint64_t made = stride();; made += stride()) {
    const auto before = done_;
    sweep(!frozen_);
    const double acceptance = static_cast<double>(stride()) *
                              static_cast<double>(done_.accepted - before.accepted) /
                              static_cast<double>(done_.updates - before.updates);
    acceptance_ += acceptance;
    monitor.count(stride(), acceptance);
    if (made >= steps || monitor.pause.load(std::memory_order_relaxed)) return made;
  }
}

ChainReport AxisChain::report() const {
  ChainReport report;
  report.counts.curvatures = done_.again;
  report.counts.curvature_pairs = done_.updates;  // along the axis that moves and the next one
  report.counts.nonfinite = done_.nonfinite;
  report.floored = done_.floored;
  report.largest_drift = done_.largest_drift;
  return report;
}

/// Coefficients are all that there is to it where the predictor has just been computed from them.
void AxisChain::transfer(Archive& archive) {
  archive(number_, frozen_, acceptance_, log_scale_, done_.updates, done_.again, done_.accepted,
          done_.floored, done_.nonfinite, done_.largest_drift);
  for (Vector& beta : beta_) {
    archive(beta);
    if (static_cast<std::size_t>(beta.size()) != s_.width())
      throw Error("the saved state of a chain is of a regression with other columns");
  }
  if (archive.loading()) refresh(false);
}

void AxisChainMaker::Shared::prepare_priors() {
  const auto& priors = posterior.priors();
  precisions.resize(index(width()));
  for (std::size_t j = 0; j < width(); ++j) {
    normal_priors = normal_priors && priors[j].kind != Prior::Kind::student_t;
    precisions[index(j)] = priors[j].precision();
  }
  axis_curvature.resize(width());
  for (std::size_t j = 0; j < width(); ++j)
    axis_curvature[j] = -whitening.to_coefficients.col(index(j)).cwiseAbs2().dot(precisions);
}

/// Takes these coordinates, with their origin at the coefficients `at`.
void AxisChainMaker::Shared::use(const Whitening& w, std::span<const double> at, ThreadPool& pool, bool last) {
  whitening = w;
  centre.assign(at.begin(), at.end());
  base.assign(classes() * stride(), 0.0f);
  posterior.design().multiply(centre, classes(), base.data(), pool);
  const Floats& offset = posterior.observations().offset();
  for (std::size_t k = 0; k < classes() && !offset.empty(); ++k)
    for (std::size_t i = 0; i < offset.size(); ++i) base[k * stride() + i] += offset[i];
  columns.reset();
  if (last)
    columns.emplace(posterior.give_design(w.to_coefficients, pool));
  else
    columns.emplace(posterior.design(), w.to_coefficients, pool);
  prepare_priors();
}

namespace {

/// True if the largest predictor of every row is that of its class.
bool tells_all_classes(const Observations& y, const float* eta) {
  const std::size_t stride = padded_rows(y.rows());
  for (std::size_t i = 0; i < y.rows(); ++i) {
    if (y.weight(i) == 0) continue;
    const auto label = static_cast<std::size_t>(y.y(i));
    for (std::size_t k = 0; k < y.classes(); ++k)
      if (k != label && !(eta[k * stride + i] < eta[label * stride + i])) return false;
  }
  return true;
}

}  // namespace

AxisChainMaker::AxisChainMaker(Posterior posterior, const AxisOptions& options)
    : shared_(new Shared{std::move(posterior), options, 1, {}, {}, {}, 0, {}, {}, {}, {}, true, {}, {}}) {
  if (!(options.relaxation > 0 && options.relaxation < 2))
    throw UsageError(fmt::format("relaxation is {}: it must lie between 0 and 2", options.relaxation));
  if (options.refresh_every == 0)
    throw UsageError("refresh_every is 0: the predictor must be computed afresh now and then");
  shared_->names = shared_->posterior.names();
}

std::size_t AxisChainMaker::dimension() const { return shared_->posterior.dimension(); }
std::vector<std::string> AxisChainMaker::names() const { return shared_->names; }
std::vector<std::string> AxisChainMaker::notes() const { return shared_->warnings; }

RunSettings AxisChainMaker::resolve(RunSettings s) const {
  const std::size_t sweep = dimension();
  const auto sweeps_of = [&](std::size_t steps) { return (steps + sweep - 1) / sweep; };  // rounded up
  s.thin = sweep * std::max<std::size_t>(1, sweeps_of(s.thin.value_or(sweep)));
  s.warmup = sweep * sweeps_of(s.warmup.value_or(usual_warmup * sweep));
  s.sampler = "newton-line";  // which it is, along axes
  s.directions = "axes";
  s.metric = MetricKind::none;
  s.relaxation = shared_->settings.relaxation;
  s.curvature_floor = shared_->settings.curvature_floor;
  s = onward::resolve(std::move(s), sweep);
  s.sampler = sampler;
  s.start = {.kind = Start::Kind::given, .word = "near the mode"};
  return s;
}

void AxisChainMaker::prepare(const RunSettings& settings, ThreadPool& pool, const std::atomic<bool>& stop) {
  Shared& s = *shared_;
  s.seed = *settings.seed;
  if (s.classes() == 1) {
    const Mode mode = find_mode(s.posterior, pool);
    s.warnings = mode.warnings;
    s.log_scale = std::log(mode.scale);
    s.use(whiten(mode.precision), mode.coefficients, pool, true);
  } else {
    const Observations& y = s.posterior.observations();
    s.warnings = data_warnings(s.posterior, pool);
    for (std::size_t k = 0; k < s.classes(); ++k) s.against_rest.push_back(y.one_against_rest(k));
    // First coordinates for equal classes. Sweeps in them bring a chain near the posterior; the weights that
    // the rows have on the way make the next coordinates, and their mean over later sweeps the last ones: at
    // a single place they rest on the few rows that happen to be undecided there.
    std::vector<double> at(s.posterior.coefficients(), 0.0);
    Floats weights(s.classes() * s.stride(), 0.0f);
    const auto coordinates = [&](const Floats& of_rows) {
      return whiten(shared_precision(s.posterior, of_rows, pool));
    };
    add_class_weights(y, Floats(s.classes() * s.stride(), 0.0f).data(), 1, weights.data(), pool);
    s.use(coordinates(Floats(weights.begin(), weights.begin() + index(s.stride()))), at, pool, false);
    constexpr std::uint32_t no_chain = 0xffffffff;  // a stream that no chain has
    constexpr int careful_sweeps = 8, first_sweeps = 32, averaged = 16;
    // It shares the set-up's threads, which outlive it.
    AxisChain scout(s, no_chain, std::shared_ptr<ThreadPool>(&pool, [](ThreadPool*) {}));
    scout.start(0);
    std::fill(weights.begin(), weights.end(), 0.0f);
    // A place that tells all rows' classes proves that they are separable. Not every draw is one, but where
    // some are their mean nearly always is.
    bool separable = false;
    Floats sum(s.classes() * s.stride(), 0.0f);
    for (int i = 0; i < first_sweeps && !stop; ++i) {
      scout.sweep(i < careful_sweeps);
      const float* eta = scout.predictor();
      for (std::size_t row = 0; row < sum.size(); ++row) sum[row] += eta[row];
      separable = separable || tells_all_classes(y, eta) || tells_all_classes(y, sum.data());
      if (i >= first_sweeps - averaged)
        add_class_weights(y, scout.predictor(), 1.0f / averaged, weights.data(), pool);
    }
    if (separable)
      s.warnings.emplace_back(
          "Linear combinations of the columns tell the classes apart without error (separable data): the "
          "likelihood has no maximum, and how large the coefficients are is decided by the prior.");
    for (std::size_t k = 0; k < s.classes(); ++k)
      std::copy(scout.coefficients(k).begin(), scout.coefficients(k).end(),
                at.begin() + static_cast<std::ptrdiff_t>(k * s.width()));
    s.columns.reset();  // the scout's way is over: room for the matrices of the classes
    const Whitening last = coordinates(weights);
    weights = {};
#if defined(__GLIBC__)
    malloc_trim(0);  // theirs would stay with the process, and the columns come on top
#endif
    s.use(last, at, pool, true);
  }
}

AxisChainMaker::~AxisChainMaker() = default;

std::size_t AxisChainMaker::memory() const {
  return shared_->columns->memory() + shared_->posterior.design().memory();
}

Run sample_axes(Posterior posterior, RunSettings settings, const Hooks& hooks, const AxisOptions& options) {
  AxisChainMaker maker(std::move(posterior), options);
  return run_chains(maker, maker.resolve(std::move(settings)), hooks);
}

std::unique_ptr<Chain> AxisChainMaker::make(std::size_t number, std::shared_ptr<ThreadPool> pool) {
  return std::make_unique<AxisChain>(*shared_, static_cast<std::uint32_t>(number), std::move(pool));
}

}  // namespace onward::glm
