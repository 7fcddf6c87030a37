#include "stochastic_volatility_posterior.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <Eigen/Cholesky>

namespace onward::models {
namespace {

constexpr std::size_t steps = stochastic_volatility_steps;
using Density = StochasticVolatilityDensity;
using Path = std::array<double, steps>;

/// A symmetric positive tridiagonal matrix, factorised as L Lᵀ.
struct Tridiagonal {
  Path diagonal, below;  ///< of L; below[t] is in row t

  /// The matrix with this diagonal and the same entry everywhere beside it.
  Tridiagonal(const Path& d, double beside) {
    double previous = 0;
    for (std::size_t t = 0; t < steps; ++t) {
      below[t] = t == 0 ? 0 : beside / previous;
      diagonal[t] = previous = std::sqrt(d[t] - below[t] * below[t]);
    }
  }
  /// L⁻ᵀ x
  Path back(Path x) const {
    for (std::size_t t = steps; t-- > 0;) {
      if (t + 1 < steps) x[t] -= below[t + 1] * x[t + 1];
      x[t] /= diagonal[t];
    }
    return x;
  }
  Path solve(Path x) const {
    for (std::size_t t = 0; t < steps; ++t) x[t] = (x[t] - (t == 0 ? 0 : below[t] * x[t - 1])) / diagonal[t];
    return back(x);
  }
};

/// A normal near the posterior of mu and d = h - mu, given phi and sigma. Given mu, d has mean p - q mu and
/// precision `precision`. It stands where the slope of the log density is 0 on average over the posterior's
/// spread, not at the mode, and has the curvature found there: the posterior is skewed, and from its mode a
/// few draws would carry all the weight (1% effective draws of 100,000; so 55%).
struct GivenScales {
  Tridiagonal precision;
  Path p, q;
  double mu, mu_precision;
};

constexpr double spread = 0.25;  // variance of an h a posteriori, about

GivenScales given_scales(std::span<const double> y, double phi, double sigma) {
  const double unit = 1 / (sigma * sigma);
  constexpr double mu_prior = 1 / (Density::mu_sd * Density::mu_sd);
  Path h{}, w, r, d;
  constexpr int rounds = 6;  // of Newton's method: a fixed number, so that bits do not hang on a test
  for (int round = 0;; ++round) {
    double sum_r = 0, s = mu_prior;
    for (std::size_t t = 0; t < steps; ++t) {
      // log density of y given h: slope c - 1/2, curvature -c; the slope is its mean over a normal around h
      const double c = 0.5 * y[t] * y[t] * std::exp(-h[t]), mean_c = c * std::exp(spread / 2);
      w[t] = round == rounds ? c : mean_c;
      r[t] = w[t] * h[t] + mean_c - 0.5;
      d[t] = (t == 0 || t + 1 == steps ? unit : unit * (1 + phi * phi)) + w[t];
      sum_r += r[t];
      s += w[t];
    }
    GivenScales g{Tridiagonal(d, -phi * unit), {}, {}, 0, 0};
    g.p = g.precision.solve(r);
    g.q = g.precision.solve(w);
    g.mu_precision = s;
    g.mu = sum_r;
    for (std::size_t t = 0; t < steps; ++t) {
      g.mu -= w[t] * g.p[t];
      g.mu_precision -= w[t] * g.q[t];
    }
    g.mu /= g.mu_precision;
    if (round == rounds) return g;
    // A step of more than a few units would overshoot where exp(-h) is large.
    for (std::size_t t = 0; t < steps; ++t)
      h[t] += std::clamp(g.mu + g.p[t] - g.q[t] * g.mu - h[t], -3.0, 3.0);
  }
}

constexpr double degrees = 5;  // of freedom of the proposal of phi and sigma

}  // namespace

double StochasticVolatilityPosterior::draw(const Proposal& proposal, const Stream& stream,
                                           std::span<double> out) const {
  // phi and sigma
  std::array<double, 2 + static_cast<std::size_t>(degrees)> normals;
  stream.normals(0, Purpose::start, normals);
  double chi2 = 0;
  for (std::size_t i = 2; i < normals.size(); ++i) chi2 += normals[i] * normals[i];
  const Eigen::Vector2d e = Eigen::Vector2d(normals[0], normals[1]) * std::sqrt(degrees / chi2);
  const Eigen::Vector2d scales = proposal.centre + proposal.lower * e;
  double log_proposal = -0.5 * (degrees + 2) * std::log1p(e.squaredNorm() / degrees) -
                        std::log(proposal.lower(0, 0) * proposal.lower(1, 1));
  const double phi = std::tanh(scales[0] / 2), sigma = std::exp(scales[1]);

  // mu and h
  const GivenScales g = given_scales(density_.y(), phi, sigma);
  std::array<double, steps + 1> noise;
  stream.normals(1, Purpose::start, noise);
  const double mu = g.mu + noise[steps] / std::sqrt(g.mu_precision);
  log_proposal += 0.5 * std::log(g.mu_precision);
  Path white;
  std::copy_n(noise.begin(), steps, white.begin());
  const Path wander = g.precision.back(white);
  for (std::size_t t = 0; t < steps; ++t) log_proposal += std::log(g.precision.diagonal[t]);
  for (const double x : noise) log_proposal -= 0.5 * x * x;

  // Back to innovations. The target's density is over them; that of h has the Jacobian dz/dh besides.
  out[0] = mu;
  out[1] = scales[0];
  out[2] = scales[1];
  const double first = std::sqrt(1 - phi * phi);
  double before = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    const double d = g.p[t] - g.q[t] * mu + wander[t];
    out[3 + t] = t == 0 ? first * d / sigma : (d - phi * before) / sigma;
    before = d;
  }
  const double log_jacobian = std::log(first) - static_cast<double>(steps) * scales[1];
  return target_density_(std::span<const double>(out)) + log_jacobian - log_proposal;
}

StochasticVolatilityPosterior::Proposal StochasticVolatilityPosterior::fitted(const Proposal& first) const {
  constexpr std::uint32_t count = 4000;
  std::vector<double> out(steps + 3), log_weights;
  std::vector<Eigen::Vector2d> draws;
  for (std::uint32_t n = 0; n < count; ++n) {
    log_weights.push_back(draw(first, Stream(0, n), out));
    draws.emplace_back(out[1], out[2]);
  }
  const double highest = *std::max_element(log_weights.begin(), log_weights.end());
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  Eigen::Matrix2d squares = Eigen::Matrix2d::Zero();
  double total = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    const double weight = std::exp(log_weights[n] - highest);
    total += weight;
    mean += weight * draws[n];
    squares += weight * draws[n] * draws[n].transpose();
  }
  mean /= total;
  const Eigen::Matrix2d covariance = squares / total - mean * mean.transpose();
  return {mean, covariance.llt().matrixL()};
}

StochasticVolatilityPosterior::StochasticVolatilityPosterior()
    : density_(steps), target_density_(stochastic_volatility_parameters(steps), density_) {
  // Around what the data were made with, wide enough to hold the posterior.
  const Proposal wide{{std::log(1.95 / 0.05), std::log(0.3)}, Eigen::Vector2d(1.5, 0.5).asDiagonal()};
  proposal_ = fitted(wide);
}

double StochasticVolatilityPosterior::draw(const Stream& stream, std::span<double> out) const {
  return draw(proposal_, stream, out);
}

}  // namespace onward::models
