#pragma once
// The acceptance probabilities of the paper's algorithm boxes and of newton-line, computed the long way:
// proposals are written down as normal distributions over the parameters with their covariance matrices,
// normalisers included, and evaluated with dense linear algebra. Nothing is shared with the kernels but the
// random numbers and the target.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "onward/sampler/kernel.hpp"
#include "onward/target/target.hpp"

namespace onward::testing {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

/// log N(x; mean, covariance)
inline double log_normal(const Vector& x, const Vector& mean, const Matrix& covariance) {
  const Eigen::LLT<Matrix> factor(covariance);
  const Vector scaled = factor.matrixL().solve(x - mean);
  double log_determinant = 0;
  for (Eigen::Index i = 0; i < x.size(); ++i) log_determinant += 2 * std::log(factor.matrixL()(i, i));
  return -0.5 * (scaled.squaredNorm() + log_determinant +
                 static_cast<double>(x.size()) * std::log(2 * std::numbers::pi));
}

inline double log_normal(double x, double mean, double sd) {
  return -0.5 * std::pow((x - mean) / sd, 2) - std::log(sd) - 0.5 * std::log(2 * std::numbers::pi);
}

/// One step as the paper has it: where it proposes to go, and with what probability that is accepted.
struct Expected {
  Vector proposal;
  double acceptance;
};

class BruteForce {
 public:
  BruteForce(AnyTarget target, Matrix lower, Vector theta, const StepRandom& random)
      : target_(std::move(target)), lower_(std::move(lower)), theta_(std::move(theta)), size_(theta_.size()) {
    const auto n = static_cast<std::size_t>(size_);
    std::vector<double> v(n), v_star(n), z(n);
    random.direction(v);
    random.reverse_direction(v_star);
    random.noise(z);
    v_ = Eigen::Map<Vector>(v.data(), size_);
    v_star_ = Eigen::Map<Vector>(v_star.data(), size_);
    z_ = Eigen::Map<Vector>(z.data(), size_);
    z_scalar_ = random.noise();
    choices_ = {random.choice(0), random.choice(1)};
  }

  Expected rwm(double eta) {
    const Vector to = theta_ + eta * lower_ * z_;
    return {to, probability(value(to) - value(theta_))};
  }

  Expected mala(double eta) {
    const Matrix metric = lower_ * lower_.transpose();
    const auto mean = [&](const Vector& at) -> Vector { return at + eta * eta / 2 * metric * gradient(at); };
    const Vector to = mean(theta_) + eta * lower_ * z_;
    const Matrix covariance = eta * eta * metric;
    return {to, probability(value(to) + log_normal(theta_, mean(to), covariance) - value(theta_) -
                            log_normal(to, mean(theta_), covariance))};
  }

  Expected fmala(double eta, BiasCorrection correction) {
    const auto d = static_cast<double>(size_);
    const double noise = correction == BiasCorrection::coupled ? eta * std::sqrt(d) : eta;
    const double drift = correction == BiasCorrection::none ? eta * eta / 2 : d * eta * eta / 2;
    const auto mean = [&](const Vector& at, const Vector& v) -> Vector {
      const Vector w = lower_ * v;
      return at + drift * jet(at, w).slope * w;
    };
    const Vector to = mean(theta_, v_) + noise * lower_ * z_;
    const Matrix covariance = noise * noise * lower_ * lower_.transpose();
    return {to, probability(value(to) + log_normal(theta_, mean(to, v_star_), covariance) - value(theta_) -
                            log_normal(to, mean(theta_, v_), covariance))};
  }

  Expected line_fmala(double eta, BiasCorrection correction) {
    const double step =
        correction == BiasCorrection::none ? eta : eta * std::sqrt(static_cast<double>(size_));
    const Vector w = lower_ * v_;
    const double mean = step * step / 2 * jet(theta_, w).slope;
    const double alpha = mean + step * z_scalar_;
    const Vector to = theta_ + alpha * w;
    const double mean_back = alpha + step * step / 2 * jet(to, w).slope;
    return {to, probability(value(to) + log_normal(0, mean_back, step) - value(theta_) -
                            log_normal(alpha, mean, step))};
  }

  Expected pc_fmala(double eta, BiasCorrection correction, double floor) {
    const double d = correction == BiasCorrection::none ? 1.0 : static_cast<double>(size_);
    const auto mean = [&](const Vector& at, const Vector& v) -> Vector {
      const Vector w = lower_ * v;
      return at + eta * eta / (2 * scale(at, w, floor)) * jet(at, w).slope * w;
    };
    const auto covariance = [&](const Vector& at, const Vector& v) -> Matrix {
      return eta * eta / (d * scale(at, lower_ * v, floor)) * lower_ * lower_.transpose();
    };
    const Vector to = mean(theta_, v_) + eta / std::sqrt(d * scale(theta_, lower_ * v_, floor)) * lower_ * z_;
    return {to, probability(value(to) + log_normal(theta_, mean(to, v_star_), covariance(to, v_star_)) -
                            value(theta_) - log_normal(to, mean(theta_, v_), covariance(theta_, v_)))};
  }

  Expected pc_line_fmala(double eta, double floor) {
    const Vector w = lower_ * v_;
    const double h = scale(theta_, w, floor);
    const double mean = eta * eta / (2 * h) * jet(theta_, w).slope;
    const double alpha = mean + eta / std::sqrt(h) * z_scalar_;
    const Vector to = theta_ + alpha * w;
    const double h_back = scale(to, w, floor);
    const double mean_back = alpha + eta * eta / (2 * h_back) * jet(to, w).slope;
    return {to, probability(value(to) + log_normal(0, mean_back, eta / std::sqrt(h_back)) - value(theta_) -
                            log_normal(alpha, mean, eta / std::sqrt(h)))};
  }

  Expected newton_line(double c, double floor) {
    const Vector w = lower_ * v_;
    const bool plain = choices_[0] < 0.1;
    const double tau = 0.1 * std::pow(100.0, choices_[1]);
    const auto mean = [&](const Vector& at) {
      const double h = scale(at, w, floor), longest = 2.25 / std::sqrt(h);
      return plain ? 0 : c * std::clamp(jet(at, w).slope / h, -longest, longest);
    };
    const auto sd = [&](const Vector& at) {
      return plain ? tau : std::sqrt(c * (2 - c) / scale(at, w, floor));
    };
    const double alpha = mean(theta_) + sd(theta_) * z_scalar_;
    const Vector to = theta_ + alpha * w;
    return {to, probability(value(to) + log_normal(0, alpha + mean(to), sd(to)) - value(theta_) -
                            log_normal(alpha, mean(theta_), sd(theta_)))};
  }

  /// The density of a move is twice that of the normal, times the probability of the way that it took.
  Expected line_barker(double eta) {
    const Vector w = lower_ * v_;
    // Slopes may be in the thousands, where a double would make 0 of a chance.
    const auto log_chance = [&](const Vector& at, double way) {
      return static_cast<double>(-std::log1p(std::exp(-static_cast<long double>(way) * jet(at, w).slope)));
    };
    const double far = eta * z_scalar_;
    const double alpha = std::log(choices_[0]) < log_chance(theta_, far) ? far : -far;
    const Vector to = theta_ + alpha * w;
    const double forward = std::log(2) + log_chance(theta_, alpha) + log_normal(alpha, 0, eta);
    const double reverse = std::log(2) + log_chance(to, -alpha) + log_normal(-alpha, 0, eta);
    return {to, probability(value(to) + reverse - value(theta_) - forward)};
  }

 private:
  static double probability(double log_ratio) { return std::exp(std::min(0.0, log_ratio)); }
  static VectorView view(const Vector& x) { return {x.data(), static_cast<std::size_t>(x.size())}; }
  Jet jet(const Vector& at, const Vector& w) { return target_.jet(view(at), view(w), Order::curvature); }
  double value(const Vector& at) { return target_.value(view(at)); }
  double scale(const Vector& at, const Vector& w, double floor) {
    const Jet j = jet(at, w);
    return std::max(std::abs(j.curvature), floor * j.slope * j.slope);
  }
  Vector gradient(const Vector& at) {
    Vector g(size_);
    target_.gradient(view(at), {g.data(), static_cast<std::size_t>(size_)});
    return g;
  }

  AnyTarget target_;
  Matrix lower_;
  Vector theta_, v_, v_star_, z_;
  double z_scalar_ = 0;
  std::array<double, 2> choices_{};
  Eigen::Index size_;
};

}  // namespace onward::testing
