#include "onward/warmup/climb.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "onward/util/stopped.hpp"

namespace onward {
namespace {

using Eigen::VectorXd;

/// The curvature that a quasi-Newton method knows: a diagonal, and the last few moves with the change of the
/// gradient along each (Nocedal 1980; the diagonal by Gilbert and Lemaréchal 1989).
class InverseCurvature {
 public:
  static constexpr std::size_t most_pairs = 10;

  /// A gradient g at a place that is x away is x/σ², and with x of order 1 that makes σ² about 1/|g|.
  explicit InverseCurvature(const VectorXd& gradient) : diagonal_(gradient.size()) {
    for (Eigen::Index i = 0; i < diagonal_.size(); ++i) {
      const double inverse = 1 / std::abs(gradient[i]);
      diagonal_[i] = std::isfinite(inverse) ? std::clamp(inverse, 1e-10, 1e4) : 1;
    }
  }

  /// The gradient fell by `fall` over `move`. Where the density curves the other way nothing is learned.
  void learn(const VectorXd& move, const VectorXd& fall) {
    const double product = move.dot(fall);
    if (!(product > 1e-10 * move.norm() * fall.norm())) return;
    const double a = fall.dot(diagonal_.cwiseProduct(fall));
    const double c = move.dot(move.cwiseQuotient(diagonal_));
    const VectorXd inverse = (a / product) * diagonal_.cwiseInverse().array() +
                             fall.array().square() / product -
                             (a / (product * c)) * move.array().square() / diagonal_.array().square();
    if (inverse.allFinite() && inverse.minCoeff() > 0) diagonal_ = inverse.cwiseInverse();
    pairs_.push_back({move, fall, product});
    if (pairs_.size() > most_pairs) pairs_.pop_front();
  }
  void forget_pairs() { pairs_.clear(); }
  bool knows_pairs() const { return !pairs_.empty(); }

  /// H x, with H the estimate of the covariance.
  VectorXd times(VectorXd x) const {
    std::vector<double> shares(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      shares[k] = pairs_[k].move.dot(x) / pairs_[k].product;
      x -= shares[k] * pairs_[k].fall;
    }
    x = x.cwiseProduct(diagonal_);
    for (std::size_t k = 0; k < pairs_.size(); ++k)
      x += (shares[k] - pairs_[k].fall.dot(x) / pairs_[k].product) * pairs_[k].move;
    return x;
  }

  /// The root of H: the diagonal's, and beside it few directions in which H is wider or narrower.
  Metric metric() const {
    const VectorXd scale = diagonal_.cwiseSqrt();
    std::vector<double> scales(scale.begin(), scale.end());
    const auto count = static_cast<Eigen::Index>(2 * pairs_.size());
    const Eigen::Index size = diagonal_.size();
    if (count == 0) return Metric::diagonal(std::move(scales));
    Eigen::MatrixXd spanned(size, count);
    for (Eigen::Index k = 0; 2 * k < count; ++k) {
      const Pair& pair = pairs_[static_cast<std::size_t>(k)];
      spanned.col(2 * k) = pair.move.cwiseQuotient(scale);
      spanned.col(2 * k + 1) = pair.fall.cwiseProduct(scale);
    }
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(spanned);
    const Eigen::Index rank = qr.rank();
    const Eigen::MatrixXd basis = qr.householderQ() * Eigen::MatrixXd::Identity(size, rank);
    Eigen::MatrixXd within(rank, rank);
    for (Eigen::Index k = 0; k < rank; ++k)
      within.col(k) = basis.transpose() * times(basis.col(k).cwiseQuotient(scale)).cwiseQuotient(scale);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver((within + within.transpose()) / 2);
    const VectorXd widths = solver.eigenvalues();
    if (solver.info() != Eigen::Success || !widths.allFinite() || !(widths.minCoeff() > 0))
      return Metric::diagonal(std::move(scales));
    return Metric::lowrank(std::move(scales), basis * solver.eigenvectors(), widths.cwiseSqrt().array() - 1);
  }

 private:
  struct Pair {
    VectorXd move, fall;
    double product;
  };
  VectorXd diagonal_;
  std::deque<Pair> pairs_;
};

class Climb {
 public:
  Climb(AnyTarget& target, std::span<const double> from, std::size_t most, const std::atomic<bool>* stop,
        const std::atomic<bool>* hurry)
      : target_(target), most_(most), stop_(stop), hurry_(hurry), here_(evaluate(VectorXd(map(from)))) {}

  Ascent go() {
    InverseCurvature curvature(here_.gradient);
    if (std::isfinite(here_.value))
      while (gradients_ < most_ && !hurried()) {
        const VectorXd direction = curvature.times(here_.gradient);
        const double slope = here_.gradient.dot(direction);
        // Two places in a row, and without a leap up to them: the first estimates of the curvature are rough.
        arrived_ = slope <= typical() && last_rise_ <= typical() ? arrived_ + 1 : 0;
        if (arrived_ == 2 || !(slope > 0) || !std::isfinite(slope)) break;
        if (step(curvature, direction, slope)) continue;
        if (!curvature.knows_pairs()) break;
        curvature.forget_pairs();  // the diagonal alone may lead on
      }
    return {{here_.position.begin(), here_.position.end()},
            {here_.gradient.begin(), here_.gradient.end()},
            here_.value,
            curvature.metric(),
            gradients_};
  }

 private:
  struct Place {
    VectorXd position, gradient;
    double value;
  };

  static Eigen::Map<const VectorXd> map(std::span<const double> x) {
    return {x.data(), static_cast<Eigen::Index>(x.size())};
  }
  bool hurried() const { return hurry_ != nullptr && hurry_->load(std::memory_order_relaxed); }
  /// What gᵀΣg is at most among draws of a normal, but for a few in a hundred.
  double typical() const {
    const auto dimension = static_cast<double>(here_.position.size());
    return dimension + 2 * std::sqrt(2 * dimension);
  }

  Place evaluate(VectorXd position) {
    throw_if_stopped(stop_);
    ++gradients_;
    Place place{std::move(position), {}, 0};
    place.gradient.setZero(place.position.size());
    const auto size = static_cast<std::size_t>(place.position.size());
    const std::span<const double> at(place.position.data(), size);
    if (target_.has_gradient()) {
      place.value = target_.gradient(at, {place.gradient.data(), size});
      return place;
    }
    axis_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      axis_[i] = 1;
      const Jet jet = target_.jet(at, axis_, Order::slope);
      axis_[i] = 0;
      place.value = jet.value;
      place.gradient[static_cast<Eigen::Index>(i)] = jet.slope;
      if (!std::isfinite(jet.value)) break;
    }
    return place;
  }

  /// As far along the direction as it pays: halved while it leads down, doubled while it is steep. False if
  /// it leads nowhere.
  bool step(InverseCurvature& curvature, const VectorXd& direction, double slope) {
    constexpr double worth = 1e-4, steep = 0.9;
    constexpr int tries = 30;
    double length = 1;
    std::optional<Place> best;
    double best_slope = 0;
    for (int k = 0; k < tries && gradients_ < most_; ++k) {
      Place there = evaluate(here_.position + length * direction);
      const double rise = there.value - here_.value;
      if (!(rise >= worth * length * slope)) {
        if (best) break;
        // Where the rise is known, to the top of the parabola through it.
        const double top = std::isfinite(rise) ? length * slope / (2 * (slope - rise / length)) : 0;
        length = std::clamp(top, 0.1 * length, 0.5 * length);
        continue;
      }
      if (best && there.value <= best->value) break;
      best_slope = there.gradient.dot(direction);
      best = std::move(there);
      // Once it was shortened, what is beyond is known.
      if (length < 1 || best_slope < steep * slope) break;
      length *= 2;
    }
    if (!best) return false;
    last_rise_ = best->value - here_.value;
    curvature.learn(best->position - here_.position, here_.gradient - best->gradient);
    here_ = std::move(*best);
    return true;
  }

  AnyTarget& target_;
  std::size_t most_;
  const std::atomic<bool>*stop_, *hurry_;
  std::vector<double> axis_;
  std::size_t gradients_ = 0;
  int arrived_ = 0;
  double last_rise_ = 0;
  Place here_;
};

}  // namespace

Ascent climb(AnyTarget& target, std::span<const double> from, std::size_t most, const std::atomic<bool>* stop,
             const std::atomic<bool>* hurry) {
  return Climb(target, from, most, stop, hurry).go();
}

}  // namespace onward
