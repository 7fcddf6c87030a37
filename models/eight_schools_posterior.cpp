#include "eight_schools_posterior.hpp"

#include <algorithm>
#include <cmath>

#include "eight_schools.hpp"

namespace onward::models {
namespace {

constexpr auto& y = EightSchoolsDensity::y;
constexpr auto& sigma = EightSchoolsDensity::sigma;
constexpr std::size_t schools = EightSchoolsDensity::schools;

// Where log tau is looked at. The density falls by the width on the left, by the ninth power of tau on the
// right: what lies beyond is below 1e-16 in the moments.
constexpr double begin = -38, end = 8;
constexpr std::size_t cells = 9200;
constexpr double width = (end - begin) / cells;

}  // namespace

EightSchoolsPosterior::GivenTau EightSchoolsPosterior::given_tau(double log_tau) {
  const double tau2 = std::exp(2 * log_tau);
  GivenTau g{log_tau - std::log1p(tau2 / 25), 0, 1.0 / 25};
  for (std::size_t j = 0; j < schools; ++j) {
    const double variance = sigma[j] * sigma[j] + tau2;
    g.precision += 1 / variance;
    g.mean += y[j] / variance;
    g.log_density -= 0.5 * (std::log(variance) + y[j] * y[j] / variance);
  }
  g.mean /= g.precision;
  g.log_density += 0.5 * (g.precision * g.mean * g.mean - std::log(g.precision));
  return g;
}

EightSchoolsPosterior::EightSchoolsPosterior() {
  double sum = 0;
  for (std::size_t k = 0; k < cells; ++k) {
    sum += std::exp(given_tau(begin + (static_cast<double>(k) + 0.5) * width).log_density);
    cumulative_.push_back(sum);
  }
}

KnownMoments EightSchoolsPosterior::moments() const {
  constexpr std::size_t parameters = schools + 2;
  std::vector<double> first(parameters), second(parameters);
  double total = 0;
  for (std::size_t k = 0; k <= cells; ++k) {
    const double log_tau = begin + static_cast<double>(k) * width, tau = std::exp(log_tau);
    const GivenTau g = given_tau(log_tau);
    const double weight = std::exp(g.log_density);
    total += weight;
    const auto add = [&](std::size_t i, double mean, double variance) {
      first[i] += weight * mean;
      second[i] += weight * (mean * mean + variance);
    };
    for (std::size_t j = 0; j < schools; ++j) {
      // theta_j given mu and tau lies between y_j and mu: pooled is the share of mu.
      const double s2 = sigma[j] * sigma[j], pooled = s2 / (s2 + tau * tau);
      add(j, (1 - pooled) * y[j] + pooled * g.mean, pooled * tau * tau + pooled * pooled / g.precision);
    }
    add(schools, g.mean, 1 / g.precision);
    add(schools + 1, tau, 0);
  }
  KnownMoments known;
  for (std::size_t i = 0; i < parameters; ++i) {
    const double mean = first[i] / total;
    known.mean.push_back(mean);
    known.sd.push_back(std::sqrt(second[i] / total - mean * mean));
  }
  return known;
}

double EightSchoolsPosterior::draw(const Stream& stream, std::span<double> out) const {
  const double u = stream.uniform(0, Purpose::start) * cumulative_.back();
  const auto cell = static_cast<std::size_t>(
      std::min(std::upper_bound(cumulative_.begin(), cumulative_.end(), u), cumulative_.end() - 1) -
      cumulative_.begin());
  const double before = cell == 0 ? 0 : cumulative_[cell - 1], height = cumulative_[cell] - before;
  const double log_tau = begin + width * (static_cast<double>(cell) + (u - before) / height);

  const double tau = std::exp(log_tau);
  const GivenTau g = given_tau(log_tau);
  std::vector<double> z(schools + 1);
  stream.normals(1, Purpose::start, z);
  const double mu = g.mean + z[schools] / std::sqrt(g.precision);
  for (std::size_t j = 0; j < schools; ++j) {
    const double variance = sigma[j] * sigma[j] + tau * tau;
    out[j] = tau * (y[j] - mu) / variance + sigma[j] / std::sqrt(variance) * z[j];
  }
  out[schools] = mu;
  out[schools + 1] = log_tau;
  return g.log_density - std::log(height);
}

}  // namespace onward::models
