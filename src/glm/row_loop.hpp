#pragma once
// The loop over rows that every family shares: 16 rows at a time in one float register or its equivalent, so
// that the order of sums is the same for registers of any width.

#include <algorithm>
#include <array>
#include <cstddef>

#include "onward/glm/family.hpp"
#include "onward/glm/row_functions.hpp"

namespace onward::glm {

inline constexpr std::size_t group_rows = 16;
inline constexpr std::size_t chunk_rows = 128;  // rows whose terms are added in float: 8 a lane

/// As many floats as T has lanes, converted to T. The address is aligned to the lanes.
template <class T>
inline T load_rows(const float* p) {
  if constexpr (std::same_as<simd::scalar_t<T>, float>) {
    return T::load_aligned(p);
  } else {
#if defined(__AVX512F__)
    return T(_mm512_maskz_cvtps_pd(0xff, _mm256_load_ps(p)));
#else
    alignas(T) std::array<double, simd::lanes_v<T>> a;
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = p[i];
    return T::load_aligned(a.data());
#endif
  }
}

template <class T>
inline void store_rows(float* p, const T& x) {
  if constexpr (std::same_as<simd::scalar_t<T>, float>) {
    x.store_aligned(p);
  } else {
    alignas(T) std::array<double, simd::lanes_v<T>> a;
    x.store_aligned(a.data());
    for (std::size_t i = 0; i < a.size(); ++i) p[i] = static_cast<float>(a[i]);
  }
}

/// Sixteen sums in double, to which registers of rows are added: element i of a group goes to sum i.
class GroupTotals {
 public:
  GroupTotals() { totals_.fill(Double(0.0)); }

  template <class T>
  void add(std::size_t part, const T& x) {
    if constexpr (std::same_as<T, Double>) {
      totals_[part] = totals_[part] + x;
    } else {
#if defined(__AVX512F__)
      totals_[0] = totals_[0] + Double(_mm512_maskz_cvtps_pd(0xff, _mm512_castps512_ps256(x)));
      totals_[1] = totals_[1] + Double(_mm512_maskz_cvtps_pd(0xff, _mm512_extractf32x8_ps(x, 1)));
#else
      constexpr std::size_t lanes = simd::lanes_v<Double>;
      alignas(T) std::array<float, simd::lanes_v<T>> a;
      x.store_aligned(a.data());
      for (std::size_t k = 0; k * lanes < a.size(); ++k) {
        Double& total = totals_[(part * a.size()) / lanes + k];
        total = total + load_rows<Double>(a.data() + k * lanes);
      }
#endif
    }
  }

  double sum() const {
    constexpr std::size_t lanes = simd::lanes_v<Double>;
    alignas(Double) std::array<double, group_rows> s;
    for (std::size_t k = 0; k < totals_.size(); ++k) totals_[k].store_aligned(&s[k * lanes]);
    for (std::size_t width = group_rows / 2; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) s[i] += s[i + width];
    return s[0];
  }

 private:
  using Double = simd::Batch<double>;
  std::array<Double, group_rows / simd::lanes_v<Double>> totals_;
};

/// One sum over rows: terms of a chunk in T, chunks in double.
template <class T>
class RowSum {
 public:
  static constexpr std::size_t parts = group_rows / simd::lanes_v<T>;

  RowSum() { clear(); }
  void add(std::size_t part, const T& x) { partial_[part] = partial_[part] + x; }
  void add_product(std::size_t part, const T& x, const T& y) {
    partial_[part] = simd::mul_add(x, y, partial_[part]);
  }
  void end_chunk() {
    for (std::size_t part = 0; part < parts; ++part) totals_.add(part, partial_[part]);
    clear();
  }
  double sum() const { return totals_.sum(); }

 private:
  void clear() { partial_.fill(T(simd::scalar_t<T>(0))); }
  std::array<T, parts> partial_;
  GroupTotals totals_;
};

/// The rows i with i < count, as a mask of the lanes that begin at row `at`.
template <class T>
inline simd::mask_t<T> rows_below(std::size_t at, std::size_t count) {
  using S = simd::scalar_t<T>;
  alignas(T) std::array<S, simd::lanes_v<T>> a;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = at + i < count ? S(1) : S(0);
  return T::load_aligned(a.data()) > T(S(0.5));
}

/// Calls group(row, part, mask) for registers of rows in [begin, end), chunk_end() after each chunk. The mask
/// is null except in the last group, where rows may be missing.
template <class T, class Group, class ChunkEnd>
inline void for_each_group(std::size_t begin, std::size_t end, const Group& group,
                           const ChunkEnd& chunk_end) {
  constexpr std::size_t lanes = simd::lanes_v<T>, parts = group_rows / lanes;
  using Mask = simd::mask_t<T>;
  for (std::size_t chunk = begin; chunk < end; chunk += chunk_rows) {
    const std::size_t stop = std::min(chunk + chunk_rows, end);
    std::size_t i = chunk;
    for (; i + group_rows <= stop; i += group_rows)
      for (std::size_t part = 0; part < parts; ++part)
        group(i + part * lanes, part, static_cast<const Mask*>(nullptr));
    for (std::size_t part = 0; i < stop && part < parts; ++part) {
      const Mask mask = rows_below<T>(i + part * lanes, stop);
      group(i + part * lanes, part, &mask);
    }
    chunk_end();
  }
}

/// x in the rows of the mask and 0 in the others; without a mask x.
template <class T>
[[gnu::always_inline]] inline T kept(const T& x, const simd::mask_t<T>* mask) {
  return mask ? simd::select(*mask, x, T(simd::scalar_t<T>(0))) : x;
}

/// Calls piece(number, begin, end) for all pieces of the rows.
template <class Piece>
void for_each_piece(std::size_t rows, ThreadPool& pool, const Piece& piece) {
  pool.for_each(pieces_of(rows),
                [&](std::size_t p) { piece(p, p * piece_rows, std::min((p + 1) * piece_rows, rows)); });
}

}  // namespace onward::glm
