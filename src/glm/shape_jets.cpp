// The log likelihood of student-t, ordinal and zero-inflated rows as the logs of their numbers move along a
// direction, with derivatives.

#include <cmath>
#include <stdexcept>

#include "number_sums.hpp"
#include "onward/ad/polygamma.hpp"
#include "onward/glm/family.hpp"
#include "onward/simd/special.hpp"
#include "thresholds.hpp"

namespace onward::glm {
namespace {

using T = simd::Batch<double>;

/// log Gamma((nu + 1) / 2) - log Gamma(nu / 2) - log(pi nu) / 2, with derivatives by nu.
Jet student_constant(double nu) {
  constexpr double half_log_pi = 0.57236494292470008707;
  const double x = 0.5 * nu;
  if (x > 50) {  // by its series: the terms below would cancel
    const double r = 1 / x, r3 = r * r * r, r5 = r3 * r * r;
    return {-0.5 * std::log(2.0) - half_log_pi - r / 8 + r3 / 192 - r5 / 640,
            0.5 * (r * r / 8 - r3 * r / 64 + r5 * r / 128), 0.25 * (-r3 / 4 + r5 / 16 - 3 * r5 * r * r / 64)};
  }
  return {simd::lgamma(x + 0.5) - simd::lgamma(x) - half_log_pi - 0.5 * std::log(nu),
          0.5 * (simd::digamma(x + 0.5) - simd::digamma(x) - 1 / nu),
          0.25 * (ad::polygamma(x + 0.5).trigamma - ad::polygamma(x).trigamma) + 0.5 / (nu * nu)};
}

/// A row's derivatives along a direction of the numbers, and its mixed one by the predictor.
struct StudentTurn {
  const float *y, *weight;
  double sigma, excess;  // excess: nu - 1, whose log is sampled
  double by_sigma, by_excess;

  NumberRow operator()(std::size_t i, const T& eta) const {
    const double nu = 1 + excess, b = by_excess * excess;  // how fast nu moves
    const T one(1.0), w = load_rows<T>(weight + i), z = (load_rows<T>(y + i) - eta) / T(sigma);
    const T far = z * z / T(nu), share = far / (one + far), near = one / (one + far);
    const T loss = simd::log1p(far);
    // Of -(nu + 1) / 2 log(1 + far), by log sigma (s) and by nu (n).
    const T s = T(nu + 1) * share, ss = T(-2.0) * s * near;
    const T n = T(-0.5) * loss + T((nu + 1) / (2 * nu)) * share;
    const T nn = share * (T(0.5 / nu - 0.5 / (nu * nu)) - T((nu + 1) / (2 * nu * nu)) * near);
    const T sn = share * (one - T((nu + 1) / nu) * near);
    const T slope = T((nu + 1) / (nu * sigma)) * z * near;
    const T a(by_sigma);
    return {w * T(-0.5 * (nu + 1)) * loss, w * (a * s + T(b) * n),
            w * (a * a * ss + T(2 * by_sigma * b) * sn + T(by_excess * b) * n + T(b * b) * nn),
            w * slope * (a * T(-2.0) * near + T(b) * (T(1 / (nu + 1)) - T(1 / nu) * near))};
  }
};

/// How fast thresholds move, by class as in ThresholdTable.
struct OrdinalTurn {
  const std::uint8_t* code;
  const float* weight;
  std::vector<double> above{0}, below{0, 0};              // where they are
  std::vector<double> above_slope{0}, below_slope{0, 0};  // by the place along the direction
  std::vector<double> above_twice{0}, below_twice{0, 0};  // and the second derivatives

  OrdinalTurn(const std::uint8_t* codes, const float* weights, std::span<const double> gaps,
              std::span<const double> turns)
      : code(codes), weight(weights) {
    const double far = ThresholdTable::far;
    below[0] = -far;
    double at = 0, slope = 0, twice = 0;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      at += gaps[i], slope += gaps[i] * turns[i], twice += gaps[i] * turns[i] * turns[i];
      for (auto* list : {&above, &below}) list->push_back(at);
      for (auto* list : {&above_slope, &below_slope}) list->push_back(slope);
      for (auto* list : {&above_twice, &below_twice}) list->push_back(twice);
    }
    above.push_back(far), above_slope.push_back(0), above_twice.push_back(0);
  }

  T look(const std::vector<double>& table, std::size_t i) const {
    alignas(T) std::array<double, simd::lanes_v<T>> entries;
    for (std::size_t k = 0; k < entries.size(); ++k) entries[k] = table[code[i + k]];
    return T::load_aligned(entries.data());
  }

  NumberRow operator()(std::size_t i, const T& eta) const {
    const T zero(0.0), w = load_rows<T>(weight + i), most(1000.0);
    const T a = simd::min(T(look(above, i) - eta), most), b = simd::max(T(look(below, i) - eta), T(-most));
    const auto at_a = detail::logistic(a), at_b = detail::logistic(b);
    const T no_a = simd::select(a > zero, at_a.eq, at_a.q), yes_b = simd::select(b > zero, at_b.q, at_b.eq);
    const T wide_a = at_a.q * at_a.eq, wide_b = at_b.q * at_b.eq;
    const T loss = simd::max(T(-a), zero) + at_a.softplus_rest + simd::max(b, zero) + at_b.softplus_rest;
    const T da = look(above_slope, i), db = look(below_slope, i);
    return {-w * loss, w * (no_a * da - yes_b * db),
            w * (no_a * look(above_twice, i) - yes_b * look(below_twice, i) - wide_a * da * da -
                 wide_b * db * db),
            w * (wide_a * da + wide_b * db)};
  }
};

struct InflatedTurn {
  const float *y, *m, *log_m;
  double u, turn;

  NumberRow operator()(std::size_t i, const T& eta) const {
    const T zero(0.0), first = load_rows<T>(y + i), w = load_rows<T>(m + i);
    const RowJet<T> count = poisson_row(T(eta - load_rows<T>(log_m + i)), first, w);
    const T mu = simd::min(simd::exp(eta), T(1e30)), at = simd::min(T(T(u) + mu), T(1000.0));
    const auto odds = detail::logistic(at);
    const T own = simd::select(at > zero, odds.eq, odds.q), other = simd::select(at > zero, odds.q, odds.eq);
    const T value = simd::max(T(u), T(-mu)) + odds.softplus_rest;
    const auto counts = first > zero;
    const T wide = own * other;
    return {simd::select(counts, count.value, T(w * value)),
            simd::select(counts, zero, T(w * T(turn) * other)),
            simd::select(counts, zero, T(w * T(turn * turn) * wide)),
            simd::select(counts, zero, T(w * T(turn) * mu * wide))};
  }
};

}  // namespace

/// Calls use(row), with row(i, eta) what the family says of the rows from i on.
template <class Use>
auto Observations::with_turns(const FamilyNumbers& numbers, std::span<const double> turns,
                              const Use& use) const {
  const std::vector<double>& at = numbers.values();
  const float* weight = second_.data();
  switch (family_) {
    case Family::student_t:
      return use(StudentTurn{y_.data(), weight, at[0], at[1], turns[0], turns[1]});
    case Family::ordinal:
      return use(OrdinalTurn(codes_.data(), weight, at, turns));
    case Family::zero_inflated_poisson:
      return use(InflatedTurn{first_.data(), weight, third_.data(), numbers.log(0), turns[0]});
    default:
      throw std::logic_error("this family has other numbers");
  }
}

/// What does not depend on the predictor; `turns` may be empty.
Jet Observations::constant_jet(const FamilyNumbers& numbers, std::span<const double> turns) const {
  Jet sum{constant_, 0, 0};
  const auto turn = [&](std::size_t i) { return turns.empty() ? 0.0 : turns[i]; };
  const std::vector<double>& at = numbers.values();
  if (family_ == Family::student_t) {
    const Jet by_nu = student_constant(1 + at[1]);
    const double b = turn(1) * at[1];
    sum.value += total_weight_ * (by_nu.value - numbers.log(0));
    sum.slope += total_weight_ * (b * by_nu.slope - turn(0));
    sum.curvature += total_weight_ * (turn(1) * b * by_nu.slope + b * b * by_nu.curvature);
  }
  if (family_ == Family::zero_inflated_poisson) {
    const double zi = at[0] / (1 + at[0]), rest = 1 / (1 + at[0]);
    sum.value -= total_weight_ * std::log1p(at[0]);
    sum.slope -= total_weight_ * turn(0) * zi;
    sum.curvature -= total_weight_ * turn(0) * turn(0) * zi * rest;
  }
  if (family_ == Family::ordinal)
    for (std::size_t i = 0; i < at.size(); ++i) {
      // log(1 - e^-g) of the class between two thresholds that are g apart; by g it is 1 / (e^g - 1).
      const double g = at[i], weight = class_weights_[i + 1], first = 1 / std::expm1(g);
      const double moved = g * turn(i);
      if (weight == 0) continue;
      sum.value += weight * std::log(-std::expm1(-g));
      sum.slope += weight * moved * first;
      sum.curvature += weight * (moved * turn(i) * first - moved * moved * first * (1 + first));
    }
  return sum;
}

Jet Observations::shape_jet(const float* eta, const FamilyNumbers& numbers, std::span<const double> turns,
                            ThreadPool& pool, const float* d, double* mixed) const {
  const NumberSums sums = with_turns(numbers, turns, [&](const auto& row) {
    return number_sums(rows_, pool, [&](std::size_t i) {
      NumberRow one = row(i, load_rows<T>(eta + i));
      one.mixed = d ? T(one.mixed * load_rows<T>(d + i)) : T(0.0);
      return one;
    });
  });
  if (mixed) *mixed = sums.mixed;
  const Jet constant = constant_jet(numbers, turns);
  return {sums.value + constant.value, sums.slope + constant.slope, sums.curvature + constant.curvature};
}

void Observations::mixed_rows(const float* eta, const FamilyNumbers& numbers, std::span<const double> turns,
                              float* out, ThreadPool& pool) const {
  with_turns(numbers, turns, [&](const auto& row) {
    for_each_piece(rows_, pool, [&](std::size_t, std::size_t begin, std::size_t end) {
      for_each_group<T>(
          begin, end,
          [&](std::size_t i, std::size_t, const simd::mask_t<T>* mask) {
            store_rows(out + i, kept(row(i, load_rows<T>(eta + i)).mixed, mask));
          },
          [] {});
    });
    return 0;
  });
}

}  // namespace onward::glm
