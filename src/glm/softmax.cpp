#include "onward/glm/softmax.hpp"

#include <algorithm>

#include "row_loop.hpp"

namespace onward::glm {
namespace {

using T = simd::Batch<float>;

/// The largest predictor, and the sum of exp(eta - max) over classes, for the lanes at row i; a class may be
/// left out.
struct Total {
  T max, sum;
};

[[gnu::always_inline]] inline Total total(const float* eta, std::size_t stride, std::size_t classes,
                                          std::size_t without) {
  T max(-std::numeric_limits<float>::infinity());
  for (std::size_t k = 0; k < classes; ++k)
    if (k != without) max = simd::max(load_rows<T>(eta + k * stride), max);
  T sum(0.0f);
  for (std::size_t k = 0; k < classes; ++k)
    if (k != without) sum = sum + detail::exp_of_negative(T(load_rows<T>(eta + k * stride) - max));
  return {max, sum};
}

constexpr std::size_t none = static_cast<std::size_t>(-1);

template <bool moves, bool looks_ahead>
[[gnu::flatten]] LineSums piece_sums(const Observations& y, const RowLine& line, std::size_t begin,
                                     std::size_t end) {
  const std::size_t stride = padded_rows(y.rows()), classes = y.classes();
  const T alpha(line.alpha), zero(0.0f), one(1.0f);
  RowSum<T> value, slope, curvature, next_slope, next_curvature;
  for_each_group<T>(
      begin, end,
      [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) {
        const T label = load_rows<T>(y.labels() + i);
        const T w = y.weights().empty() ? one : load_rows<T>(y.weights().data() + i);
        const auto at = [&](std::size_t k) {
          const T eta = load_rows<T>(line.eta + k * stride + i);
          if constexpr (moves) return simd::mul_add(alpha, load_rows<T>(line.d + k * stride + i), eta);
          return eta;
        };
        T max(-std::numeric_limits<float>::infinity());
        for (std::size_t k = 0; k < classes; ++k) {
          const T eta = at(k);
          if (moves && line.moved) store_rows(line.moved + k * stride + i, eta);
          max = simd::max(eta, max);
        }
        // Moments of the directions under the class probabilities, the chosen class's own entries aside.
        T sum(zero), chosen(zero), d1(zero), d2(zero), d_chosen(zero), n1(zero), n2(zero), n_chosen(zero);
        for (std::size_t k = 0; k < classes; ++k) {
          const T eta = at(k) - max;
          const T e = detail::exp_of_negative(eta);
          const auto is_label = label == T(static_cast<float>(k));
          sum = sum + e;
          chosen = simd::select(is_label, eta, chosen);
          if constexpr (moves) {
            const T d = load_rows<T>(line.d + k * stride + i);
            const T ed = e * d;
            d1 = d1 + ed;
            d2 = simd::mul_add(ed, d, d2);
            d_chosen = simd::select(is_label, d, d_chosen);
          }
          if constexpr (looks_ahead) {
            const T d = load_rows<T>(line.next + k * stride + i);
            const T ed = e * d;
            n1 = n1 + ed;
            n2 = simd::mul_add(ed, d, n2);
            n_chosen = simd::select(is_label, d, n_chosen);
          }
        }
        const T share = one / sum;
        value.add(part, kept(T(w * (chosen - simd::log(sum))), mask));
        if constexpr (moves) {
          const T mean = d1 * share;
          slope.add(part, kept(T(w * (d_chosen - mean)), mask));
          curvature.add(part, kept(T(w * (mean * mean - d2 * share)), mask));
        }
        if constexpr (looks_ahead) {
          const T mean = n1 * share;
          next_slope.add(part, kept(T(w * (n_chosen - mean)), mask));
          next_curvature.add(part, kept(T(w * (mean * mean - n2 * share)), mask));
        }
      },
      [&] {
        value.end_chunk();
        if constexpr (moves) slope.end_chunk(), curvature.end_chunk();
        if constexpr (looks_ahead) next_slope.end_chunk(), next_curvature.end_chunk();
      });
  return {value.sum(), slope.sum(), curvature.sum(), next_slope.sum(), next_curvature.sum()};
}

}  // namespace

LineSums softmax_sums(const Observations& y, const RowLine& line, ThreadPool& pool) {
  std::vector<LineSums> parts(pieces_of(y.rows()));
  for_each_piece(y.rows(), pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    if (line.d)
      parts[p] = line.next ? piece_sums<true, true>(y, line, begin, end)
                           : piece_sums<true, false>(y, line, begin, end);
    else
      parts[p] = line.next ? piece_sums<false, true>(y, line, begin, end)
                           : piece_sums<false, false>(y, line, begin, end);
  });
  return tree_sum<LineSums>(parts);
}

double softmax_residuals(const Observations& y, const float* eta, float* residuals, ThreadPool& pool) {
  const std::size_t stride = padded_rows(y.rows()), classes = y.classes();
  std::vector<double> parts(pieces_of(y.rows()));
  for_each_piece(y.rows(), pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    RowSum<T> value;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) {
          const T label = load_rows<T>(y.labels() + i);
          const T w = kept(y.weights().empty() ? T(1.0f) : load_rows<T>(y.weights().data() + i), mask);
          const auto [max, sum] = total(eta + i, stride, classes, none);
          const T share = T(1.0f) / sum;
          T chosen(0.0f);
          for (std::size_t k = 0; k < classes; ++k) {
            const T shifted = load_rows<T>(eta + k * stride + i) - max;
            const auto is_label = label == T(static_cast<float>(k));
            const T probability = detail::exp_of_negative(shifted) * share;
            chosen = simd::select(is_label, shifted, chosen);
            store_rows(residuals + k * stride + i,
                       T(w * (simd::select(is_label, T(1.0f), T(0.0f)) - probability)));
          }
          value.add(part, kept(T(w * (chosen - simd::log(sum))), mask));
        },
        [&] { value.end_chunk(); });
    parts[p] = value.sum();
  });
  return tree_sum<double>(parts);
}

void class_odds(const Observations& y, const float* eta, std::size_t k, float* odds, float* others,
                ThreadPool& pool) {
  const std::size_t stride = padded_rows(y.rows());
  for_each_piece(y.rows(), pool, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += simd::lanes_v<T>) {
      const auto [max, sum] = total(eta + i, stride, y.classes(), k);
      const T rest = max + simd::log(sum);
      store_rows(others + i, rest);
      store_rows(odds + i, T(load_rows<T>(eta + k * stride + i) - rest));
    }
  });
}

void add_class_weights(const Observations& y, const float* eta, float factor, float* out, ThreadPool& pool) {
  const std::size_t stride = padded_rows(y.rows());
  for_each_piece(y.rows(), pool, [&](std::size_t, std::size_t begin, std::size_t end) {
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t, const simd::mask_t<T>* mask) {
          const auto [max, sum] = total(eta + i, stride, y.classes(), none);
          const T share = T(1.0f) / sum;
          const T w = y.weights().empty() ? T(factor) : T(factor) * load_rows<T>(y.weights().data() + i);
          for (std::size_t k = 0; k < y.classes(); ++k) {
            const T p = detail::exp_of_negative(T(load_rows<T>(eta + k * stride + i) - max)) * share;
            float* at = out + k * stride + i;
            store_rows(at, kept(simd::mul_add(T(w * p), T(T(1.0f) - p), load_rows<T>(at)), mask));
          }
        },
        [] {});
  });
}

}  // namespace onward::glm
