// Products with a design: every row by a vector, every column by a vector, and their kernels, which keep
// their sums in registers while the columns go by.

#include "onward/glm/design.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "row_loop.hpp"

namespace onward::glm {
namespace {

using Lanes = simd::Batch<float>;
constexpr std::size_t lanes = simd::lanes_v<Lanes>;

inline Lanes load_lanes(const float* p) { return Lanes::load_aligned(p); }
inline Lanes load_lanes(const std::uint8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(p));
  return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu8_epi32(0xffff, bytes));
#else
  alignas(Lanes) std::array<float, lanes> a;
  for (std::size_t i = 0; i < lanes; ++i) a[i] = static_cast<float>(p[i]);
  return Lanes::load_aligned(a.data());
#endif
}

/// The columns of a block that are worth a visit: all of them, or a list of those that are not 0 throughout.
/// Looking at the bytes each time would cost a mispredicted branch too often.
struct AllColumns {
  std::size_t count;
  std::size_t operator[](std::size_t i) const { return i; }
};
struct ListedColumns {
  const std::uint32_t* list;
  std::size_t count;
  std::size_t operator[](std::size_t i) const { return list[i]; }
};

/// `classes` products for `rows` of the 64 rows of a block: out[k][row] = constant[k] + sum_j x[j][row]
/// f[j][k]. The sums stay in registers from the first column to the last. Packs instead of loops: indices
/// that are constants from the start are what lets the compiler keep the arrays in registers.
template <std::size_t rows, class Element, class Columns, std::size_t... part, std::size_t... sum>
[[gnu::always_inline]] inline void multiply_rows(std::index_sequence<part...>, std::index_sequence<sum...>,
                                                 const Element* x, const float* factors,
                                                 const Columns& columns, std::size_t factor_stride,
                                                 const float* constants, float* out, std::size_t out_stride) {
  constexpr std::size_t parts = sizeof...(part);
  Lanes sums[sizeof...(sum)] = {Lanes(constants[sum / parts])...};
  for (std::size_t i = 0; i < columns.count; ++i) {
    const std::size_t j = columns[i];
    const Element* column = x + j * block_rows;
    const float* f = factors + j * factor_stride;
    const Lanes values[parts] = {load_lanes(column + part * lanes)...};
    ((sums[sum] = simd::mul_add(values[sum % parts], Lanes(f[sum / parts]), sums[sum])), ...);
  }
  (sums[sum].store_aligned(out + sum / parts * out_stride + sum % parts * lanes), ...);
}

template <std::size_t classes, std::size_t rows, class Element, class Columns>
void multiply_block_rows(const Element* x, const float* factors, const Columns& columns,
                         std::size_t factor_stride, const float* constants, float* out,
                         std::size_t out_stride) {
  for (std::size_t row = 0; row < block_rows; row += rows)
    multiply_rows<rows>(std::make_index_sequence<rows / lanes>(),
                        std::make_index_sequence<classes * rows / lanes>(), x + row, factors, columns,
                        factor_stride, constants, out + row, out_stride);
}

/// Any number of classes, as many at a time as registers hold.
template <class Element, class Columns>
void multiply_block_all(const Element* x, const float* factors, const Columns& columns, std::size_t classes,
                        const float* constants, float* out, std::size_t out_stride) {
  std::size_t k = 0;
  const auto take = [&]<std::size_t count, std::size_t rows>() {
    for (; k + count <= classes; k += count)
      multiply_block_rows<count, rows>(x, factors + k, columns, classes, constants + k, out + k * out_stride,
                                       out_stride);
  };
  take.template operator()<10, 32>();
  take.template operator()<4, 64>();
  take.template operator()<1, 64>();
}

/// The sum of the lanes, in double.
inline double lane_sum(const Lanes& x) {
#if defined(__AVX512F__)
  const __m512d low = _mm512_maskz_cvtps_pd(0xff, _mm512_castps512_ps256(x));
  const __m512d high = _mm512_maskz_cvtps_pd(0xff, _mm512_extractf32x8_ps(x, 1));
  return _mm512_reduce_add_pd(_mm512_add_pd(low, high));
#else
  alignas(Lanes) std::array<float, lanes> a;
  x.store_aligned(a.data());
  std::array<double, lanes> s;
  for (std::size_t i = 0; i < lanes; ++i) s[i] = static_cast<double>(a[i]);
  for (std::size_t width = lanes / 2; width > 0; width /= 2)
    for (std::size_t i = 0; i < width; ++i) s[i] += s[i + width];
  return s[0];
#endif
}

/// out[k][j] += sum over the rows of some blocks of x[j][row] r[k][row].
template <class Element, std::size_t... k>
void add_transposed(std::index_sequence<k...>, const Element* x, std::size_t columns, std::size_t blocks,
                    const std::uint16_t* worth, const float* r, std::size_t r_stride, double factor,
                    double* out, std::size_t out_stride) {
  constexpr std::size_t parts = block_rows / lanes;
  for (std::size_t j = 0; j < columns; ++j) {
    Lanes sums[sizeof...(k)] = {Lanes(k * 0.0f)...};
    for (unsigned rest = worth ? worth[j] : (1u << blocks) - 1u; rest != 0; rest &= rest - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(rest));
      const Element* values = x + (b * columns + j) * block_rows;
      for (std::size_t p = 0; p < parts; ++p) {
        const Lanes value = load_lanes(values + p * lanes);
        const float* residuals = r + b * block_rows + p * lanes;
        ((sums[k] = simd::mul_add(value, load_lanes(residuals + k * r_stride), sums[k])), ...);
      }
    }
    ((out[k * out_stride + j] += factor * lane_sum(sums[k])), ...);
  }
}

template <class Element>
void add_transposed_all(const Element* x, std::size_t columns, std::size_t blocks, const std::uint16_t* worth,
                        const float* r, std::size_t r_stride, std::size_t classes, double factor, double* out,
                        std::size_t out_stride) {
  std::size_t k = 0;
  const auto take = [&]<std::size_t count>() {
    for (; k + count <= classes; k += count)
      add_transposed(std::make_index_sequence<count>(), x, columns, blocks, worth, r + k * r_stride, r_stride,
                     factor, out + k * out_stride, out_stride);
  };
  take.template operator()<10>();
  take.template operator()<4>();
  take.template operator()<1>();
}

double row_sum(const float* r, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(r[i]);
  return sum;
}

/// One number for each column and class.
struct Sums {
  std::vector<double> values;
  Sums& operator+=(const Sums& other) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
    return *this;
  }
};

}  // namespace

Design::Factors Design::factors(std::span<const double> v, std::size_t classes) const {
  const std::size_t first = intercept_ ? 1 : 0;
  Factors f{classes, std::vector<float>(columns_ * classes), std::vector<float>(classes)};
  for (std::size_t k = 0; k < classes; ++k) {
    const double* w = v.data() + k * columns();
    double shift = 0;
    for (std::size_t j = 0; j < columns_; ++j) {
      f.factors[j * classes + k] = static_cast<float>(w[first + j] * static_cast<double>(scale_));
      shift += w[first + j];
    }
    double constant = (intercept_ ? w[0] : 0.0) + static_cast<double>(shift_) * shift;
    for (std::size_t j = 0; j < subtracted_.size(); ++j) constant -= subtracted_[j] * w[first + j];
    f.constants[k] = static_cast<float>(constant);
  }
  return f;
}

void Design::multiply(const Factors& v, std::size_t piece, float* out, std::size_t stride) const {
  const std::size_t begin = piece * piece_rows, count = piece_size(piece), padded = padded_rows(count);
  const std::size_t classes = v.classes;
  if (storage_ == Storage::sparse) {
    for (std::size_t k = 0; k < classes; ++k) std::fill_n(out + k * stride, padded, v.constants[k]);
    const std::size_t* starts = starts_.data() + piece * columns_;
    for (std::size_t j = 0; j < columns_; ++j)
      for (std::size_t e = starts[j]; e < starts[j + 1]; ++e)
        for (std::size_t k = 0; k < classes; ++k) {
          float& sum = out[k * stride + sparse_rows_[e]];
          sum = simd::mul_add(sparse_values_[e], v.factors[j * classes + k], sum);
        }
  } else {
    for (std::size_t row = 0; row < padded; row += block_rows) {
      const std::size_t at = (begin + row) * columns_, block = (begin + row) / block_rows;
      if (storage_ == Storage::floats)
        multiply_block_all(floats_.data() + at, v.factors.data(), AllColumns{columns_}, classes,
                           v.constants.data(), out + row, stride);
      else
        multiply_block_all(bytes_.data() + at, v.factors.data(),
                           ListedColumns{nonzero_.data() + nonzero_starts_[block],
                                         nonzero_starts_[block + 1] - nonzero_starts_[block]},
                           classes, v.constants.data(), out + row, stride);
    }
  }
  for (std::size_t k = 0; k < classes; ++k)
    std::fill(out + k * stride + count, out + k * stride + padded, 0.0f);
}

void Design::multiply(std::span<const double> v, std::size_t classes, float* out, ThreadPool& pool) const {
  const Factors f = factors(v, classes);
  pool.for_each(pieces_of(rows_),
                [&](std::size_t p) { multiply(f, p, out + p * piece_rows, padded_rows(rows_)); });
}

void Design::multiply_block(std::size_t first, std::span<const double> v, float* out,
                            ThreadPool& pool) const {
  std::vector<double> all(columns(), 0.0);
  std::copy(v.begin(), v.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  if (v.size() * 2 > columns()) return multiply(all, out, pool);
  std::fill(out, out + padded_rows(rows_), 0.0f);
  Floats one(padded_rows(rows_));
  for (std::size_t j = 0; j < v.size(); ++j) {
    column(first + j, one.data());
    const auto factor = static_cast<float>(v[j]);
    pool.for_each(pieces_of(rows_), [&](std::size_t p) {
      const std::size_t end = std::min((p + 1) * piece_rows, padded_rows(rows_));
      for (std::size_t i = p * piece_rows; i < end; ++i) out[i] = simd::mul_add(factor, one[i], out[i]);
    });
  }
}

void Design::multiply_transposed_piece(std::size_t piece, const float* r, std::size_t classes,
                                       std::size_t stride, std::span<double> out) const {
  const std::size_t width = columns(), first = intercept_ ? 1 : 0;
  const std::size_t begin = piece * piece_rows, count = piece_size(piece), padded = padded_rows(count);
  const auto factor = static_cast<double>(scale_);
  std::fill(out.begin(), out.end(), 0.0);
  if (storage_ == Storage::sparse) {
    const std::size_t* starts = starts_.data() + piece * columns_;
    for (std::size_t k = 0; k < classes; ++k)
      for (std::size_t j = 0; j < columns_; ++j) {
        double sum = 0;
        for (std::size_t e = starts[j]; e < starts[j + 1]; ++e)
          sum +=
              static_cast<double>(sparse_values_[e]) * static_cast<double>(r[k * stride + sparse_rows_[e]]);
        out[k * width + first + j] = sum;
      }
  } else {
    for (std::size_t row = 0; row < padded; row += group_blocks * block_rows) {
      const std::size_t blocks = std::min(group_blocks, (padded - row) / block_rows);
      const std::size_t at = (begin + row) * columns_;
      if (storage_ == Storage::floats)
        add_transposed_all(floats_.data() + at, columns_, blocks, nullptr, r + row, stride, classes, factor,
                           out.data() + first, width);
      else
        add_transposed_all(bytes_.data() + at, columns_, blocks,
                           group_nonzero_.data() + (begin + row) / (group_blocks * block_rows) * columns_,
                           r + row, stride, classes, factor, out.data() + first, width);
    }
  }
  if (!intercept_ && shift_ == 0 && subtracted_.empty()) return;
  for (std::size_t k = 0; k < classes; ++k) {
    const double total = row_sum(r + k * stride, count);
    if (intercept_) out[k * width] = total;
    for (std::size_t j = 0; j < subtracted_.size(); ++j) out[k * width + first + j] -= subtracted_[j] * total;
    for (std::size_t j = 0; shift_ != 0 && j < columns_; ++j)
      out[k * width + first + j] += static_cast<double>(shift_) * total;
  }
}

void Design::multiply_transposed(const float* r, std::size_t classes, std::span<double> out,
                                 ThreadPool& pool) const {
  std::vector<Sums> parts(pieces_of(rows_));
  pool.for_each(parts.size(), [&](std::size_t p) {
    parts[p].values.resize(columns() * classes);
    multiply_transposed_piece(p, r + p * piece_rows, classes, padded_rows(rows_), parts[p].values);
  });
  const Sums total = tree_sum<Sums>(parts);
  std::copy(total.values.begin(), total.values.end(), out.begin());
}

void Design::multiply_transposed(const PieceSource& r, std::span<double> out, ThreadPool& pool) const {
  std::vector<Sums> parts(pieces_of(rows_));
  pool.for_each(parts.size(), [&](std::size_t p) {
    alignas(64) std::array<float, piece_rows> made;
    const std::size_t count = piece_size(p);
    r(p, std::span(made).first(count));
    std::fill(made.begin() + static_cast<std::ptrdiff_t>(count),
              made.begin() + static_cast<std::ptrdiff_t>(padded_rows(count)), 0.0f);
    parts[p].values.resize(columns());
    multiply_transposed_piece(p, made.data(), 1, piece_rows, parts[p].values);
  });
  const Sums total = tree_sum<Sums>(parts);
  std::copy(total.values.begin(), total.values.end(), out.begin());
}

}  // namespace onward::glm
