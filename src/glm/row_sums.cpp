// Sums over the rows of a family: the log likelihood with its derivatives along a line, by each row's
// predictor and by the dispersion.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "onward/ad/polygamma.hpp"
#include "onward/glm/family.hpp"
#include "onward/simd/special.hpp"
#include "row_loop.hpp"

namespace onward::glm {
namespace {

// The row functions with the arrays they read. jet(i, eta) is for the lanes that begin at row i.

struct BernoulliRows {
  const float* y_less_half;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return bernoulli_row(eta, load_rows<T>(y_less_half + i));
  }
};

struct BinomialRows {
  const float *yes, *no;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return logit_row(eta, load_rows<T>(yes + i), load_rows<T>(no + i));
  }
};

/// A negative binomial count is so many successes before phi failures, at log odds eta - log phi.
struct NegativeBinomialRows {
  const float *y, *weight;
  double phi, log_phi;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    using S = simd::scalar_t<T>;
    return logit_row(T(eta - T(S(log_phi))), load_rows<T>(y + i), T(load_rows<T>(weight + i) * T(S(phi))));
  }
};

struct PoissonRows {
  const float *y, *m, *log_m;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return poisson_row(T(eta - load_rows<T>(log_m + i)), load_rows<T>(y + i), load_rows<T>(m + i));
  }
};

template <class T>
RowJet<T> times(const RowJet<T>& j, const T& w) {
  return {T(w * j.value), T(w * j.slope), T(w * j.curvature)};
}

struct GaussianRows {
  const float *y, *weight;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(gaussian_row(eta, load_rows<T>(y + i)), load_rows<T>(weight + i));
  }
};

struct ProbitRows {
  const float *sign, *weight;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(probit_row(eta, load_rows<T>(sign + i)), load_rows<T>(weight + i));
  }
};

struct CloglogRows {
  const float *y, *weight;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(cloglog_row(eta, load_rows<T>(y + i)), load_rows<T>(weight + i));
  }
};

// Flattened: a call inside the loop would send every register to memory and back.
template <class T, bool moves, bool looks_ahead, class Rows>
[[gnu::flatten]] LineSums piece_sums(const Rows& rows, const RowLine& line, std::size_t begin,
                                     std::size_t end) {
  RowSum<T> value, slope, curvature, next_slope, next_curvature;
  const T alpha(static_cast<simd::scalar_t<T>>(line.alpha));
  for_each_group<T>(
      begin, end,
      [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) __attribute__((always_inline)) {
        T eta = load_rows<T>(line.eta + i), d;
        if constexpr (moves) {
          d = load_rows<T>(line.d + i);
          eta = simd::mul_add(alpha, d, eta);
          if (line.moved) store_rows(line.moved + i, eta);
        }
        const RowJet<T> jet = rows.jet(i, eta);
        value.add(part, kept(jet.value, mask));
        const T first = kept(jet.slope, mask), second = kept(jet.curvature, mask);
        if constexpr (moves) {
          slope.add_product(part, first, d);
          curvature.add_product(part, T(second * d), d);
        }
        if constexpr (looks_ahead) {
          const T next = load_rows<T>(line.next + i);
          next_slope.add_product(part, first, next);
          next_curvature.add_product(part, T(second * next), next);
        }
      },
      [&] {
        value.end_chunk();
        if constexpr (moves) slope.end_chunk(), curvature.end_chunk();
        if constexpr (looks_ahead) next_slope.end_chunk(), next_curvature.end_chunk();
      });
  return {value.sum(), slope.sum(), curvature.sum(), next_slope.sum(), next_curvature.sum()};
}

template <class T, class Rows>
LineSums sums_as(const Rows& rows, const RowLine& whole, std::size_t count, ThreadPool& pool) {
  thread_local std::vector<LineSums> parts;
  auto& mine = parts;
  mine.resize(pieces_of(count));
  for_each_piece(count, pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    RowLine line = whole;  // with d and next such that row i is at i
    const std::size_t skip = p * (whole.stride - piece_rows);
    if (line.d) line.d += skip;
    if (line.next) line.next += skip;
    if (line.d)
      mine[p] = line.next ? piece_sums<T, true, true>(rows, line, begin, end)
                          : piece_sums<T, true, false>(rows, line, begin, end);
    else
      mine[p] = line.next ? piece_sums<T, false, true>(rows, line, begin, end)
                          : piece_sums<T, false, false>(rows, line, begin, end);
  });
  return tree_sum<LineSums>(mine);
}

template <class T, class Rows>
double slopes_as(const Rows& rows, const float* eta, float* slope, float* weight, std::size_t count,
                 ThreadPool& pool) {
  std::vector<double> parts(pieces_of(count));
  for_each_piece(count, pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    RowSum<T> value;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) {
          const RowJet<T> jet = rows.jet(i, load_rows<T>(eta + i));
          value.add(part, kept(jet.value, mask));
          if (slope) store_rows(slope + i, kept(jet.slope, mask));
          if (weight) store_rows(weight + i, kept(T(simd::neg(jet.curvature)), mask));
        },
        [&] { value.end_chunk(); });
    parts[p] = value.sum();
  });
  return tree_sum<double>(parts);
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

double Observations::constant(double scale) const {
  double sum = constant_;
  if (family_ == Family::gaussian) sum -= total_weight_ * std::log(scale);
  if (family_ == Family::negative_binomial) sum += rising(scale).value;
  return sum;
}

/// Calls use(number, rows) with the row functions of the family; `number` is of the type to compute with.
template <class Use>
auto Observations::with_rows(double scale, const Use& use) const {
  const auto use_rows = [&](const auto& rows) {
    return arithmetic_ == Arithmetic::in_float ? use(simd::Batch<float>(), rows)
                                               : use(simd::Batch<double>(), rows);
  };
  const float *first = first_.data(), *second = second_.data();
  switch (family_) {
    case Family::gaussian:
      return use_rows(GaussianRows{y_.data(), second});
    case Family::bernoulli:
      if (weights_.empty()) return use_rows(BernoulliRows{first});
      return use_rows(BinomialRows{first, second});
    case Family::binomial:
      return use_rows(BinomialRows{first, second});
    case Family::probit:
      return use_rows(ProbitRows{first, second});
    case Family::cloglog:
      return use_rows(CloglogRows{y_.data(), second});
    case Family::poisson:
      return use_rows(PoissonRows{first, second, third_.data()});
    case Family::negative_binomial:
      return use_rows(NegativeBinomialRows{first, second, scale, std::log(scale)});
    case Family::categorical:
      break;
  }
  throw std::logic_error("categorical rows have a predictor for each class");
}

LineSums Observations::sums(const RowLine& line, ThreadPool& pool) const {
  LineSums sums = with_rows(
      line.scale, [&]<class T>(const T&, const auto& rows) { return sums_as<T>(rows, line, rows_, pool); });
  if (family_ == Family::gaussian) {
    const double precision = 1 / (line.scale * line.scale);
    sums = {sums.value * precision, sums.slope * precision, sums.curvature * precision,
            sums.next_slope * precision, sums.next_curvature * precision};
  }
  return sums;
}

double Observations::row_slopes(const float* eta, double scale, float* slope, float* weight,
                                ThreadPool& pool) const {
  const double value = with_rows(scale, [&]<class T>(const T&, const auto& rows) {
    return slopes_as<T>(rows, eta, slope, weight, rows_, pool);
  });
  if (family_ != Family::gaussian) return value;
  const double precision = 1 / (scale * scale);
  const auto factor = static_cast<float>(precision);
  for (std::size_t i = 0; i < rows_; ++i) {
    if (slope) slope[i] *= factor;
    if (weight) weight[i] *= factor;
  }
  return value * precision;
}

void Observations::jets(std::size_t begin, std::size_t end, const float* eta, double scale, float* value,
                        float* slope, float* weight) const {
  const double precision = family_ == Family::gaussian ? 1 / (scale * scale) : 1;
  with_rows(scale, [&]<class T>(const T&, const auto& rows) {
    const T factor(static_cast<simd::scalar_t<T>>(precision));
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t, const simd::mask_t<T>*) __attribute__((always_inline)) {
          const std::size_t at = i - begin;
          const RowJet<T> jet = rows.jet(i, load_rows<T>(eta + at));
          store_rows(value + at, T(factor * jet.value));
          store_rows(slope + at, T(factor * jet.slope));
          store_rows(weight + at, T(factor * simd::neg(jet.curvature)));
        },
        [] {});
    return 0;
  });
}

double Observations::value(std::size_t begin, std::size_t end, const float* eta, double scale) const {
  const double sum = with_rows(scale, [&]<class T>(const T&, const auto& rows) {
    RowSum<T> value;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) __attribute__((always_inline)) {
          value.add(part, kept(rows.jet(i, load_rows<T>(eta + (i - begin))).value, mask));
        },
        [&] { value.end_chunk(); });
    return value.sum();
  });
  return family_ == Family::gaussian ? sum / (scale * scale) : sum;
}

Jet Observations::dispersion_jet(const float* eta, double log_phi, ThreadPool& pool, const float* d,
                                 double* mixed) const {
  using T = simd::Batch<double>;
  const double phi = std::exp(log_phi);
  struct Sums {
    double value = 0, slope = 0, curvature = 0, mixed = 0;
    Sums& operator+=(const Sums& o) {
      value += o.value, slope += o.slope, curvature += o.curvature, mixed += o.mixed;
      return *this;
    }
  };
  std::vector<Sums> parts(pieces_of(rows_));
  for_each_piece(rows_, pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    RowSum<T> value, slope, curvature, cross;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) {
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
          value.add(part, kept(logit_row(t, y, f).value, mask));
          slope.add(part, kept(T(pull - f * softplus), mask));
          curvature.add(part, kept(T(f * pr - rest * pull), mask));
          if (d) cross.add(part, kept(T(load_rows<T>(d + i) * ((y + f) * pr * rest - f * pr)), mask));
        },
        [&] { value.end_chunk(), slope.end_chunk(), curvature.end_chunk(), cross.end_chunk(); });
    parts[p] = {value.sum(), slope.sum(), curvature.sum(), cross.sum()};
  });
  const Sums rows = tree_sum<Sums>(parts);
  if (mixed) *mixed = rows.mixed;
  double value = rows.value + constant_, first = rows.slope, second = rows.curvature;
  const Jet factorials = rising(phi);
  value += factorials.value, first += factorials.slope, second += factorials.curvature;
  return {value, first, second + first};
}

Jet Observations::sigma_jet(double squares, double log_sigma) const {
  const double scaled = squares * std::exp(-2 * log_sigma);
  return {constant_ - total_weight_ * log_sigma - 0.5 * scaled, scaled - total_weight_, -2 * scaled};
}

}  // namespace onward::glm
