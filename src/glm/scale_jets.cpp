// The log likelihood as a function of a family's scale (sigma, phi or shape), with derivatives by its log.

#include <cmath>

#include "number_sums.hpp"
#include "onward/ad/polygamma.hpp"
#include "onward/glm/family.hpp"
#include "onward/simd/special.hpp"
#include "row_loop.hpp"

namespace onward::glm {

namespace {

/// alpha log alpha - alpha - log Gamma(alpha): with the rows' sum at shape 1 times alpha, what a gamma row of
/// weight 1 has of its shape alpha. Derivatives are by log alpha.
Jet gamma_constant(double log_alpha) {
  const double alpha = std::exp(log_alpha);
  if (alpha > 30) {  // by Stirling's series: the terms below would cancel
    const double r = 1 / alpha, third = r * r * r;
    return {0.5 * (log_alpha - std::log(2 * M_PI)) - r / 12 + third / 360 - third * r * r / 1260,
            0.5 + r / 12 - third / 120 + third * r * r / 252, -r / 12 + third / 40 - 5 * third * r * r / 252};
  }
  const double psi = simd::digamma(alpha), slope = alpha * (log_alpha - psi);
  return {alpha * (log_alpha - 1) - simd::lgamma(alpha), slope,
          slope + alpha * (1 - alpha * ad::polygamma(alpha).trigamma)};
}

}  // namespace

/// The weighted sum over rows of log Gamma(y + phi) - log Gamma(phi), that is of log(phi + k) for k < y, with
/// phi d/dphi and phi^2 d^2/dphi^2. Step by step: a difference of two lgammas would lose all digits where phi
/// is large and the count nearly Poisson.
Jet Observations::rising(double phi) const {
  Jet sum;
  for (std::size_t k = 0; k < tail_weights_.size(); ++k) {
    const double at = phi + static_cast<double>(k), share = phi / at;
    sum.value += tail_weights_[k] * std::log(at);
    sum.slope += tail_weights_[k] * share;
    sum.curvature -= tail_weights_[k] * share * share;
  }
  const double begin = phi + static_cast<double>(most_steps);
  for (const auto& [y, w] : large_counts_) {
    sum.value += w * (simd::lgamma(y + phi) - simd::lgamma(begin));
    sum.slope += w * phi * (simd::digamma(y + phi) - simd::digamma(begin));
    sum.curvature += w * phi * phi * (ad::polygamma(y + phi).trigamma - ad::polygamma(begin).trigamma);
  }
  return sum;
}

double Observations::constant(std::span<const double> numbers) const {
  if (numbers.empty()) return constant_;
  if (has_shape_numbers()) return constant_jet(FamilyNumbers::of(numbers), {}).value;
  double sum = constant_;
  if (family_ == Family::gaussian) sum -= total_weight_ * std::log(numbers[0]);
  if (family_ == Family::negative_binomial) sum += rising(numbers[0]).value;
  if (family_ == Family::gamma) sum += total_weight_ * gamma_constant(std::log(numbers[0])).value;
  return sum;
}

NumberSums Observations::dispersion_sums(const float* eta, double log_phi, ThreadPool& pool,
                                         const float* d) const {
  using T = simd::Batch<double>;
  const double phi = std::exp(log_phi);
  NumberSums sums = number_sums(rows_, pool, [&](std::size_t i) -> NumberRow {
    // With t = eta - log phi and p = logistic(t): phi times the derivative by phi of
    // y t - (y + phi) log(1 + e^t) is phi p - y (1 - p) - phi log(1 + e^t), and so on.
    const T t = load_rows<T>(eta + i) - T(log_phi), y = load_rows<T>(first_.data() + i),
            w = load_rows<T>(second_.data() + i);
    const T f = w * T(phi);
    const auto parts_of = detail::logistic(t);
    const auto right = t > T(0.0);
    const T pr = simd::select(right, parts_of.q, parts_of.eq),
            rest = simd::select(right, parts_of.eq, parts_of.q);
    const T softplus = simd::max(t, T(0.0)) + parts_of.softplus_rest;
    const T pull = f * pr - y * rest;
    return {logit_row(t, y, f).value, T(pull - f * softplus), T(f * pr - rest * pull),
            d ? T(load_rows<T>(d + i) * ((y + f) * pr * rest - f * pr)) : T(0.0)};
  });
  double value = sums.value + constant_, first = sums.slope, second = sums.curvature;
  const Jet factorials = rising(phi);
  value += factorials.value, first += factorials.slope, second += factorials.curvature;
  return {value, first, second + first, sums.mixed};
}

Jet Observations::scale_jet(const float* eta, double log_scale, ThreadPool& pool, const float* d,
                            double* mixed) const {
  if (scale_is_factor()) {
    const LineSums unit = sums({.eta = eta, .d = d}, pool);
    if (mixed)
      *mixed =
          unit.slope * (family_ == Family::gaussian ? -2 * std::exp(-2 * log_scale) : std::exp(log_scale));
    return scale_jet(unit.value, log_scale);
  }
  const NumberSums sums = dispersion_sums(eta, log_scale, pool, d);
  if (mixed) *mixed = sums.mixed;
  return {sums.value, sums.slope, sums.curvature};
}

Jet Observations::number_jet(const float* eta, const FamilyNumbers& numbers, std::span<const double> turns,
                             ThreadPool& pool, const float* d, double* mixed) const {
  if (has_shape_numbers()) return shape_jet(eta, numbers, turns, pool, d, mixed);
  const double turn = turns[0];
  const Jet jet = scale_jet(eta, numbers.log(0), pool, d, mixed);
  if (mixed) *mixed *= turn;
  return {jet.value, turn * jet.slope, turn * turn * jet.curvature};
}

Jet Observations::scale_jet(double unit_sum, double log_scale) const {
  if (family_ == Family::gaussian) {
    const double scaled = -2 * unit_sum * std::exp(-2 * log_scale);
    return {constant_ - total_weight_ * log_scale - 0.5 * scaled, scaled - total_weight_, -2 * scaled};
  }
  const Jet constant = gamma_constant(log_scale);
  const double rows = std::exp(log_scale) * unit_sum;
  return {constant_ + total_weight_ * constant.value + rows, total_weight_ * constant.slope + rows,
          total_weight_ * constant.curvature + rows};
}

}  // namespace onward::glm
