// Sums over the rows of a family: the log likelihood with its derivatives along a line and by each row's
// predictor.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "onward/glm/family.hpp"
#include "row_loop.hpp"
#include "thresholds.hpp"

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

struct GammaRows {
  const float *log_y, *weight;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(gamma_row(T(eta - load_rows<T>(log_y + i))), load_rows<T>(weight + i));
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

/// Counts above 0 are those of a Poisson distribution; the log odds of a certain 0 are u.
template <bool touching>
struct InflatedRows {
  PoissonRows poisson;
  double u;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    using S = simd::scalar_t<T>;
    const RowJet<T> count = poisson.jet(i, eta);
    const RowJet<T> zero = times(inflated_zero_row<touching>(eta, T(S(u))), load_rows<T>(poisson.m + i));
    const auto counts = load_rows<T>(poisson.y + i) > T(S(0));
    return {simd::select(counts, count.value, zero.value), simd::select(counts, count.slope, zero.slope),
            simd::select(counts, count.curvature, zero.curvature)};
  }
};

template <bool touching>
struct StudentRows {
  const float *y, *weight;
  double sigma, nu;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    using S = simd::scalar_t<T>;
    return times(student_row<touching>(eta, load_rows<T>(y + i), T(S(1 / sigma)), T(S(1 / nu)), T(S(nu + 1))),
                 load_rows<T>(weight + i));
  }
};

struct OrdinalRows {
  const std::uint8_t* code;
  const float* weight;
  const ThresholdTable& thresholds;
  template <class T>
  RowJet<T> jet(std::size_t i, const T& eta) const {
    return times(ordinal_row(eta, look_up<T>(thresholds.above.data(), code + i),
                             look_up<T>(thresholds.below.data(), code + i)),
                 load_rows<T>(weight + i));
  }
};

// Flattened: a call inside the loop would send every register to memory and back. The arrays of the line
// begin with row `begin`.
template <class T, bool moves, bool looks_ahead, class Rows>
[[gnu::flatten]] LineSums piece_sums(const Rows& rows, const RowLine& line, std::size_t begin,
                                     std::size_t end) {
  RowSum<T> value, slope, curvature, next_slope, next_curvature;
  const T alpha(static_cast<simd::scalar_t<T>>(line.alpha));
  for_each_group<T>(
      begin, end,
      [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) __attribute__((always_inline)) {
        const std::size_t at = i - begin;
        T eta = load_rows<T>(line.eta + at), d;
        if constexpr (moves) {
          d = load_rows<T>(line.d + at);
          eta = simd::mul_add(alpha, d, eta);
          if (line.moved) store_rows(line.moved + at, eta);
        }
        const RowJet<T> jet = rows.jet(i, eta);
        value.add(part, kept(jet.value, mask));
        const T first = kept(jet.slope, mask), second = kept(jet.curvature, mask);
        if constexpr (moves) {
          slope.add_product(part, first, d);
          curvature.add_product(part, T(second * d), d);
        }
        if constexpr (looks_ahead) {
          const T next = load_rows<T>(line.next + at);
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

/// line_of(piece, begin, end) is the line with arrays that begin with row `begin`.
template <class T, class Rows, class LineOf>
LineSums sums_as(const Rows& rows, const LineOf& line_of, std::size_t count, ThreadPool& pool) {
  thread_local std::vector<LineSums> parts;
  auto& mine = parts;
  mine.resize(pieces_of(count));
  for_each_piece(count, pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    const RowLine line = line_of(p, begin, end);
    if (line.d)
      mine[p] = line.next ? piece_sums<T, true, true>(rows, line, begin, end)
                          : piece_sums<T, true, false>(rows, line, begin, end);
    else
      mine[p] = line.next ? piece_sums<T, false, true>(rows, line, begin, end)
                          : piece_sums<T, false, false>(rows, line, begin, end);
  });
  return tree_sum<LineSums>(mine);
}

/// Of rows begin to end, with which the arrays begin.
template <class T, class Rows>
double slopes_as(const Rows& rows, std::size_t begin, std::size_t end, const float* eta, float* slope,
                 float* weight) {
  RowSum<T> value;
  for_each_group<T>(
      begin, end,
      [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) __attribute__((always_inline)) {
        const std::size_t at = i - begin;
        const RowJet<T> jet = rows.jet(i, load_rows<T>(eta + at));
        value.add(part, kept(jet.value, mask));
        if (slope) store_rows(slope + at, kept(jet.slope, mask));
        if (weight) store_rows(weight + at, kept(T(simd::neg(jet.curvature)), mask));
      },
      [&] { value.end_chunk(); });
  return value.sum();
}

}  // namespace

/// What the rows of families whose scale is a factor are multiplied by.
double Observations::row_factor(std::span<const double> numbers) const {
  if (!scale_is_factor() || numbers.empty()) return 1;
  return family_ == Family::gaussian ? 1 / (numbers[0] * numbers[0]) : numbers[0];
}

/// Calls use(number, rows) with the row functions of the family; `number` is of the type to compute with.
template <class Use>
auto Observations::with_rows(std::span<const double> numbers, Curvature curvature, const Use& use) const {
  const bool touching = curvature == Curvature::touching;
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
      return use_rows(NegativeBinomialRows{first, second, numbers[0], std::log(numbers[0])});
    case Family::gamma:
      return use_rows(GammaRows{first, second});
    case Family::student_t: {
      const double sigma = numbers[0], nu = 1 + numbers[1];
      if (touching) return use_rows(StudentRows<true>{y_.data(), second, sigma, nu});
      return use_rows(StudentRows<false>{y_.data(), second, sigma, nu});
    }
    case Family::ordinal: {
      const ThresholdTable thresholds(numbers);
      return use_rows(OrdinalRows{codes_.data(), second, thresholds});
    }
    case Family::zero_inflated_poisson: {
      const PoissonRows counts{first, second, third_.data()};
      if (touching) return use_rows(InflatedRows<true>{counts, std::log(numbers[0])});
      return use_rows(InflatedRows<false>{counts, std::log(numbers[0])});
    }
    case Family::categorical:
      break;
  }
  throw std::logic_error("categorical rows have a predictor for each class");
}

template <class LineOf>
LineSums Observations::sums_of(const LineOf& line_of, std::span<const double> numbers, Curvature curvature,
                               ThreadPool& pool) const {
  LineSums sums = with_rows(numbers, curvature, [&]<class T>(const T&, const auto& rows) {
    return sums_as<T>(rows, line_of, rows_, pool);
  });
  if (scale_is_factor() && !numbers.empty()) {
    const double factor = row_factor(numbers);
    sums = {sums.value * factor, sums.slope * factor, sums.curvature * factor, sums.next_slope * factor,
            sums.next_curvature * factor};
  }
  return sums;
}

LineSums Observations::sums(const RowLine& whole, ThreadPool& pool) const {
  const auto line_of = [&](std::size_t piece, std::size_t begin, std::size_t) {
    RowLine line = whole;
    line.eta += begin;
    if (line.moved) line.moved += begin;
    if (line.d) line.d += piece * whole.stride;
    if (line.next) line.next += piece * whole.stride;
    return line;
  };
  return sums_of(line_of, whole.numbers, whole.curvature, pool);
}

LineSums Observations::sums(const LinePieces& pieces, std::span<const double> numbers,
                            ThreadPool& pool) const {
  const RowLine nothing{.eta = nullptr};
  const auto line_of = [&](std::size_t, std::size_t begin, std::size_t end) {
    RowLine line = nothing;
    pieces(begin, end, line);
    return line;
  };
  return sums_of(line_of, numbers, nothing.curvature, pool);
}

double Observations::row_slopes(const float* eta, std::span<const double> numbers, float* slope,
                                float* weight, ThreadPool& pool, Curvature curvature) const {
  std::vector<double> parts(pieces_of(rows_));
  for_each_piece(rows_, pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    parts[p] = row_slopes(begin, end, eta + begin, numbers, slope ? slope + begin : nullptr,
                          weight ? weight + begin : nullptr, curvature);
  });
  return tree_sum<double>(parts);
}

double Observations::row_slopes(std::size_t begin, std::size_t end, const float* eta,
                                std::span<const double> numbers, float* slope, float* weight,
                                Curvature curvature) const {
  const double value = with_rows(numbers, curvature, [&]<class T>(const T&, const auto& rows) {
    return slopes_as<T>(rows, begin, end, eta, slope, weight);
  });
  if (!scale_is_factor()) return value;
  const auto factor = static_cast<float>(row_factor(numbers));
  for (std::size_t i = 0; i < end - begin; ++i) {
    if (slope) slope[i] *= factor;
    if (weight) weight[i] *= factor;
  }
  return value * row_factor(numbers);
}

void Observations::jets(std::size_t begin, std::size_t end, const float* eta, std::span<const double> numbers,
                        float* value, float* slope, float* weight) const {
  with_rows(numbers, Curvature::touching, [&]<class T>(const T&, const auto& rows) {
    const T factor(static_cast<simd::scalar_t<T>>(row_factor(numbers)));
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

double Observations::value(std::size_t begin, std::size_t end, const float* eta,
                           std::span<const double> numbers) const {
  const double sum = with_rows(numbers, Curvature::touching, [&]<class T>(const T&, const auto& rows) {
    RowSum<T> value;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) __attribute__((always_inline)) {
          value.add(part, kept(rows.jet(i, load_rows<T>(eta + (i - begin))).value, mask));
        },
        [&] { value.end_chunk(); });
    return value.sum();
  });
  if (family_ == Family::gaussian && !numbers.empty()) return sum / (numbers[0] * numbers[0]);
  return sum * row_factor(numbers);
}

}  // namespace onward::glm
