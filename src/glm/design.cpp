#include "onward/glm/design.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
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

/// Blocks whose residuals stay in the nearest cache while the columns go by.
constexpr std::size_t group_blocks = 16;

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

double row_sum(const float* r, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += static_cast<double>(r[i]);
  return sum;
}

void check_shape(std::size_t rows, std::size_t columns, bool intercept, std::size_t values,
                 const char* what) {
  if (rows == 0) throw Error("the design has no rows");
  if (columns == 0 && !intercept) throw Error("the design has no columns");
  if (values != rows * columns)
    throw Error(fmt::format("the design has {} {} for {} rows and {} columns", values, what, rows, columns));
}

/// What to call a column, by its number from 0.
std::string called(std::size_t column, std::span<const std::string> names) {
  return column < names.size() ? fmt::format("column '{}'", names[column])
                               : fmt::format("column {}", column + 1);
}

void check_entry(std::size_t row, std::size_t column, double value, std::span<const std::string> names) {
  if (!std::isfinite(value))
    throw Error(fmt::format("X in row {}, {} is {}: predictors must be finite numbers", row + 1,
                            called(column, names), value));
  constexpr double most = std::numeric_limits<float>::max();
  if (std::abs(value) > most)
    throw Error(fmt::format(
        "X in row {}, {} is {:.6g}: X is kept as floats, which go up to {:.2g}; divide the column", row + 1,
        called(column, names), value, most));
}

/// Sums over a column, relative to its first entry.
struct ColumnSums {
  double sum = 0, squares = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
  }
};

/// A float has 24 bits; what of them a large mean takes up is lost to the spread.
void check_spread(std::size_t column, double origin, const ColumnSums& sums, std::size_t rows,
                  std::span<const std::string> names) {
  constexpr double least = 2e-5;       // the spread keeps two and a half digits
  constexpr double no_spread = 1e-13;  // constant, but for the rounding of doubles
  const double n = static_cast<double>(rows), mean = origin + sums.sum / n;
  const double sd = std::sqrt(std::max(0.0, sums.squares / n - sums.sum / n * (sums.sum / n)));
  if (sd < least * std::abs(mean) && sd > no_spread * std::abs(mean))
    throw Error(
        fmt::format("{} of X has mean {:.6g} and standard deviation {:.3g}: X is kept as floats, which "
                    "would leave little of that. Subtract the mean from the column",
                    called(column, names), mean, sd));
}

}  // namespace

Design Design::from_rows(std::size_t rows, std::size_t columns, bool intercept, const RowSource& source,
                         std::span<const std::string> names) {
  if (rows == 0) throw Error("the design has no rows");
  if (columns == 0 && !intercept) throw Error("the design has no columns");
  const std::size_t first = intercept ? 1 : 0, width = columns + first;
  Design x(Storage::floats, rows, width, intercept);
  x.intercept_ = false;  // the ones are stored, so that the memory can be used for transformed columns,
  x.floats_.reserve(pieces_of(rows) * piece_rows * width);  // which come in whole pieces
  x.floats_.resize(padded_rows(rows) * width, 0.0f);
  std::vector<double> row(columns), origin(columns);
  std::vector<ColumnSums> sums(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    source(i, row);
    if (i == 0) origin = row;
    float* block = x.floats_.data() + i / block_rows * width * block_rows + i % block_rows;
    if (intercept) block[0] = 1;
    for (std::size_t j = 0; j < columns; ++j) {
      check_entry(i, j, row[j], names);
      sums[j].add(row[j] - origin[j]);
      block[(first + j) * block_rows] = static_cast<float>(row[j]);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) check_spread(j, origin[j], sums[j], rows, names);
  return x;
}

Design Design::dense(std::span<const float> values, std::size_t rows, std::size_t columns, bool intercept) {
  check_shape(rows, columns, intercept, values.size(), "numbers");
  return from_rows(rows, columns, intercept, [&](std::size_t i, std::span<double> row) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * columns), columns, row.begin());
  });
}

Design Design::dense(std::span<const double> values, std::size_t rows, std::size_t columns, bool intercept) {
  check_shape(rows, columns, intercept, values.size(), "numbers");
  return from_rows(rows, columns, intercept, [&](std::size_t i, std::span<double> row) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * columns), columns, row.begin());
  });
}

Design Design::bytes(std::span<const std::uint8_t> values, std::size_t rows, std::size_t columns, float scale,
                     float shift, bool intercept) {
  check_shape(rows, columns, intercept, values.size(), "bytes");
  if (!std::isfinite(scale) || !std::isfinite(shift) || scale == 0)
    throw UsageError(
        fmt::format("bytes are read as {} * byte + {}: the scale must be finite and not 0, the shift finite",
                    scale, shift));
  Design x(Storage::bytes, rows, columns, intercept);
  x.scale_ = scale;
  x.shift_ = shift;
  x.bytes_.assign(padded_rows(rows) * columns, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint8_t* block = x.bytes_.data() + i / block_rows * columns * block_rows + i % block_rows;
    for (std::size_t j = 0; j < columns; ++j) block[j * block_rows] = values[i * columns + j];
  }
  x.list_nonzero();
  return x;
}

/// Which columns of each block of bytes are not 0 throughout.
void Design::list_nonzero() {
  group_nonzero_.assign((blocks() + group_blocks - 1) / group_blocks * columns_, 0);
  for (std::size_t b = 0; b < blocks(); ++b) {
    nonzero_starts_.push_back(nonzero_.size());
    for (std::size_t j = 0; j < columns_; ++j) {
      const std::uint8_t* p = bytes_.data() + (b * columns_ + j) * block_rows;
      if (std::all_of(p, p + block_rows, [](std::uint8_t v) { return v == 0; })) continue;
      nonzero_.push_back(static_cast<std::uint32_t>(j));
      auto& group = group_nonzero_[b / group_blocks * columns_ + j];
      group = static_cast<std::uint16_t>(group | 1u << b % group_blocks);
    }
  }
  nonzero_starts_.push_back(nonzero_.size());
}

Design Design::sparse(const SparseColumns& columns, std::size_t rows, bool intercept) {
  const std::size_t count = columns.starts.empty() ? 0 : columns.starts.size() - 1;
  if (rows == 0) throw Error("the design has no rows");
  if (count == 0 && !intercept) throw Error("the design has no columns");
  if (columns.rows.size() != columns.values.size() ||
      (count > 0 && columns.starts.back() != columns.rows.size()))
    throw Error(fmt::format("the sparse design has {} row numbers and {} values for {} nonzeros",
                            columns.rows.size(), columns.values.size(),
                            count > 0 ? columns.starts.back() : 0));
  Design x(Storage::sparse, rows, count, intercept);
  const std::size_t pieces = pieces_of(rows);
  std::vector<std::size_t> sizes(pieces * count + 1, 0);
  for (std::size_t j = 0; j < count; ++j) {
    if (columns.starts[j] > columns.starts[j + 1])
      throw Error(fmt::format("column {} of the sparse design ends before it begins", j + 1));
    for (std::size_t e = columns.starts[j]; e < columns.starts[j + 1]; ++e) {
      if (columns.rows[e] >= rows)
        throw Error(fmt::format("column {} of the sparse design has a nonzero in row {} of {}", j + 1,
                                columns.rows[e] + 1, rows));
      if (!std::isfinite(columns.values[e]))
        throw Error(fmt::format("X in row {}, column {} is {}: predictors must be finite numbers",
                                columns.rows[e] + 1, j + 1, columns.values[e]));
      ++sizes[columns.rows[e] / piece_rows * count + j];
    }
  }
  std::size_t total = 0;
  for (auto& size : sizes) total += std::exchange(size, total);
  x.starts_ = sizes;
  x.sparse_rows_.resize(total);
  x.sparse_values_.resize(total);
  std::vector<std::size_t> next = sizes;
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t e = columns.starts[j]; e < columns.starts[j + 1]; ++e) {
      const std::size_t at = next[columns.rows[e] / piece_rows * count + j]++;
      x.sparse_rows_[at] = static_cast<std::uint16_t>(columns.rows[e] % piece_rows);
      x.sparse_values_[at] = columns.values[e];
    }
  return x;
}

std::vector<Spread> Design::spreads(std::span<const float> weights, ThreadPool& pool) const {
  std::vector<Spread> result(columns());
  pool.for_each(columns(), [&](std::size_t j) {
    Floats values(padded_rows(rows_));
    column(j, values.data());
    result[j] = spread_of(
        rows_, [&](std::size_t i) { return static_cast<double>(values[i]); },
        [&](std::size_t i) { return weights.empty() ? 1.0 : static_cast<double>(weights[i]); });
  });
  return result;
}

void Design::subtract(const std::vector<double>& from_columns, ThreadPool& pool) {
  const std::size_t first = ones_ ? 1 : 0;  // of the columns that are not ones
  if (storage_ != Storage::floats) {
    if (subtracted_.empty()) subtracted_.assign(columns_, 0.0);
    for (std::size_t j = 0; j < columns_; ++j) subtracted_[j] += from_columns[first + j];
    return;
  }
  pool.for_each(blocks(), [&](std::size_t b) {
    const std::size_t count = std::min(block_rows, rows_ - b * block_rows);
    for (std::size_t j = first; j < columns_; ++j) {
      float* values = floats_.data() + (b * columns_ + j) * block_rows;
      for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(static_cast<double>(values[i]) - from_columns[j]);
    }
  });
}

/// What products with a stored column make up for, where its values are laid out.
void Design::subtract_from(std::size_t stored, std::span<float> values) const {
  if (subtracted_.empty()) return;
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) - subtracted_[stored]);
}

std::size_t Design::memory() const {
  return floats_.size() * sizeof(float) + bytes_.size() + nonzero_.size() * sizeof(std::uint32_t) +
         starts_.size() * sizeof(std::size_t) + sparse_rows_.size() * (sizeof(std::uint16_t) + sizeof(float));
}

/// One piece of multiply: factors are [column][class], constants one a class.
void Design::add_products(std::size_t piece, const std::vector<float>& factors,
                          std::span<const float> constants, std::size_t classes, float* out) const {
  const std::size_t stride = padded_rows(rows_);
  const std::size_t begin = piece * piece_rows, end = std::min(begin + piece_rows, stride);
  if (storage_ == Storage::sparse) {
    for (std::size_t k = 0; k < classes; ++k)
      std::fill(out + k * stride + begin, out + k * stride + end, constants[k]);
    const std::size_t* starts = starts_.data() + piece * columns_;
    for (std::size_t j = 0; j < columns_; ++j)
      for (std::size_t e = starts[j]; e < starts[j + 1]; ++e)
        for (std::size_t k = 0; k < classes; ++k) {
          float& sum = out[k * stride + begin + sparse_rows_[e]];
          sum = simd::mul_add(sparse_values_[e], factors[j * classes + k], sum);
        }
  } else {
    for (std::size_t row = begin; row < end; row += block_rows) {
      const std::size_t at = row * columns_;
      if (storage_ == Storage::floats)
        multiply_block_all(floats_.data() + at, factors.data(), AllColumns{columns_}, classes,
                           constants.data(), out + row, stride);
      else
        multiply_block_all(
            bytes_.data() + at, factors.data(),
            ListedColumns{nonzero_.data() + nonzero_starts_[row / block_rows],
                          nonzero_starts_[row / block_rows + 1] - nonzero_starts_[row / block_rows]},
            classes, constants.data(), out + row, stride);
    }
  }
  if (end == stride)
    for (std::size_t k = 0; k < classes; ++k)
      std::fill(out + k * stride + rows_, out + (k + 1) * stride, 0.0f);
}

void Design::multiply(std::span<const double> v, std::size_t classes, float* out, ThreadPool& pool) const {
  const std::size_t first = intercept_ ? 1 : 0;
  std::vector<float> factors(columns_ * classes), constants(classes);
  for (std::size_t k = 0; k < classes; ++k) {
    const double* w = v.data() + k * columns();
    double shift = 0;
    for (std::size_t j = 0; j < columns_; ++j) {
      factors[j * classes + k] = static_cast<float>(w[first + j] * static_cast<double>(scale_));
      shift += w[first + j];
    }
    double constant = (intercept_ ? w[0] : 0.0) + static_cast<double>(shift_) * shift;
    for (std::size_t j = 0; j < subtracted_.size(); ++j) constant -= subtracted_[j] * w[first + j];
    constants[k] = static_cast<float>(constant);
  }
  pool.for_each(pieces_of(rows_), [&](std::size_t p) { add_products(p, factors, constants, classes, out); });
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

void Design::multiply_transposed(const float* r, std::size_t classes, std::span<double> out,
                                 ThreadPool& pool) const {
  struct Sums {
    std::vector<double> values;
    Sums& operator+=(const Sums& other) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
      return *this;
    }
  };
  const std::size_t stride = padded_rows(rows_), width = columns(), first = intercept_ ? 1 : 0;
  std::vector<Sums> parts(pieces_of(rows_));
  pool.for_each(parts.size(), [&](std::size_t p) {
    auto& sums = parts[p].values;
    sums.assign(width * classes, 0.0);
    const std::size_t begin = p * piece_rows, end = std::min(begin + piece_rows, stride);
    const std::size_t last_row = std::min(end, rows_);
    const auto factor = static_cast<double>(scale_);
    if (storage_ == Storage::sparse) {
      const std::size_t* starts = starts_.data() + p * columns_;
      for (std::size_t k = 0; k < classes; ++k)
        for (std::size_t j = 0; j < columns_; ++j) {
          double sum = 0;
          for (std::size_t e = starts[j]; e < starts[j + 1]; ++e)
            sum += static_cast<double>(sparse_values_[e]) *
                   static_cast<double>(r[k * stride + begin + sparse_rows_[e]]);
          sums[k * width + first + j] = sum;
        }
    } else {
      for (std::size_t row = begin; row < end; row += group_blocks * block_rows) {
        const std::size_t blocks = std::min(group_blocks, (end - row) / block_rows);
        const std::size_t at = row * columns_;
        if (storage_ == Storage::floats)
          add_transposed_all(floats_.data() + at, columns_, blocks, nullptr, r + row, stride, classes, factor,
                             sums.data() + first, width);
        else
          add_transposed_all(bytes_.data() + at, columns_, blocks,
                             group_nonzero_.data() + row / (group_blocks * block_rows) * columns_, r + row,
                             stride, classes, factor, sums.data() + first, width);
      }
    }
    if (intercept_ || shift_ != 0 || !subtracted_.empty())
      for (std::size_t k = 0; k < classes; ++k) {
        const double total = row_sum(r + k * stride, begin, last_row);
        if (intercept_) sums[k * width] = total;
        for (std::size_t j = 0; j < subtracted_.size(); ++j)
          sums[k * width + first + j] -= subtracted_[j] * total;
        for (std::size_t j = 0; shift_ != 0 && j < columns_; ++j)
          sums[k * width + first + j] += static_cast<double>(shift_) * total;
      }
  });
  const Sums total = tree_sum<Sums>(parts);
  std::copy(total.values.begin(), total.values.end(), out.begin());
}

void Design::column(std::size_t j, float* out) const {
  const std::size_t stride = padded_rows(rows_);
  if (intercept_ && j == 0) {
    std::fill(out, out + rows_, 1.0f);
  } else {
    j -= intercept_ ? 1 : 0;
    if (storage_ == Storage::sparse) {
      std::fill(out, out + rows_, 0.0f);
      for (std::size_t p = 0; p < pieces_of(rows_); ++p)
        for (std::size_t e = starts_[p * columns_ + j]; e < starts_[p * columns_ + j + 1]; ++e)
          out[p * piece_rows + sparse_rows_[e]] += sparse_values_[e];
    } else {
      for (std::size_t i = 0; i < stride; i += block_rows) {
        const std::size_t at = i * columns_ + j * block_rows;
        for (std::size_t row = 0; row < block_rows; ++row)
          out[i + row] = storage_ == Storage::floats
                             ? floats_[at + row]
                             : simd::mul_add(scale_, static_cast<float>(bytes_[at + row]), shift_);
      }
    }
    subtract_from(j, {out, rows_});
  }
  std::fill(out + rows_, out + stride, 0.0f);
}

void Design::panel(std::size_t piece, float* out) const {
  const std::size_t begin = piece * piece_rows, count = std::min(piece_rows, rows_ - begin);
  const std::size_t first = intercept_ ? 1 : 0;
  std::fill(out, out + columns() * piece_rows, 0.0f);
  if (intercept_) std::fill(out, out + count, 1.0f);
  for (std::size_t j = 0; j < columns_; ++j) {
    float* column = out + (first + j) * piece_rows;
    if (storage_ == Storage::sparse) {
      for (std::size_t e = starts_[piece * columns_ + j]; e < starts_[piece * columns_ + j + 1]; ++e)
        column[sparse_rows_[e]] += sparse_values_[e];
      subtract_from(j, {column, count});
      continue;
    }
    for (std::size_t row = 0; row < count; row += block_rows) {
      const std::size_t at = (begin + row) * columns_ + j * block_rows,
                        many = std::min(block_rows, count - row);
      if (storage_ == Storage::floats)
        std::copy_n(floats_.data() + at, many, column + row);
      else
        for (std::size_t i = 0; i < many; ++i)
          column[row + i] = simd::mul_add(scale_, static_cast<float>(bytes_[at + i]), shift_);
    }
    subtract_from(j, {column, count});
  }
}

namespace {

/// Up to here products of whole panels are in double; beyond, where they would take long, in float. They
/// serve whitening and Newton's method alone, which need not be exact.
constexpr std::size_t double_columns = 256;

}  // namespace

Eigen::MatrixXd Design::gram(const float* weights, ThreadPool& pool) const {
  const auto width = static_cast<Eigen::Index>(columns());
  const std::size_t pieces = pieces_of(rows_);
  const std::size_t groups =
      std::min<std::size_t>(pieces, columns() > 1000 ? 2 : 8);  // fixed: they decide the order
  std::vector<Eigen::MatrixXd> sums(groups, Eigen::MatrixXd::Zero(width, width));
  pool.for_each(groups, [&](std::size_t g) {
    Floats values(columns() * piece_rows);
    for (std::size_t p = g; p < pieces; p += groups) {
      panel(p, values.data());
      const std::size_t count = std::min(piece_rows, rows_ - p * piece_rows);
      using Matrix = Eigen::Map<const Eigen::MatrixXf, Eigen::Unaligned, Eigen::OuterStride<>>;
      const Matrix x(values.data(), static_cast<Eigen::Index>(count), width,
                     Eigen::OuterStride<>(static_cast<Eigen::Index>(piece_rows)));
      const auto accumulate = [&](auto scaled) {
        using Scaled = decltype(scaled);
        if (weights) {
          const Eigen::Map<const Eigen::VectorXf> w(weights + p * piece_rows,
                                                    static_cast<Eigen::Index>(count));
          scaled = w.cast<typename Scaled::Scalar>().cwiseMax(0).cwiseSqrt().asDiagonal() * scaled;
        }
        Scaled product = Scaled::Zero(width, width);
        product.template selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
        sums[g] += product.template cast<double>();
      };
      if (columns() <= double_columns)
        accumulate(Eigen::MatrixXd(x.cast<double>()));
      else
        accumulate(Eigen::MatrixXf(x));
    }
  });
  Eigen::MatrixXd total = tree_sum<Eigen::MatrixXd>(sums);
  total.triangularView<Eigen::StrictlyUpper>() = total.transpose();
  return total;
}

PanelColumns::PanelColumns(const Design& x, const Eigen::MatrixXd& matrix, ThreadPool& pool)
    : rows_(x.rows()), columns_(x.columns()), values_(pieces_of(x.rows()) * x.columns() * piece_rows) {
  fill(x, matrix, pool);
}

PanelColumns::PanelColumns(Design&& x, const Eigen::MatrixXd& matrix, ThreadPool& pool)
    : rows_(x.rows()), columns_(x.columns()) {
  const std::size_t size = pieces_of(rows_) * columns_ * piece_rows;
  // A piece of blocks and a piece of columns take the same memory.
  if (x.storage() != Storage::floats) {
    values_.resize(size);
    fill(x, matrix, pool);
    x.floats_ = {};
    x.bytes_ = {};
    return;
  }
  x.floats_.resize(size, 0.0f);
  fill(x, matrix, pool);  // reads and writes x.floats_ piece by piece
  values_ = std::move(x.floats_);
}

void PanelColumns::fill(const Design& x, const Eigen::MatrixXd& matrix, ThreadPool& pool) {
  const auto width = static_cast<Eigen::Index>(columns_);
  const auto height = static_cast<Eigen::Index>(piece_rows);
  // The design itself, when its memory is to be used; safe, as each piece is copied out before it is written.
  float* to = values_.empty() ? const_cast<float*>(x.floats_.data()) : values_.data();
  const Eigen::MatrixXf matrix_float = matrix.cast<float>();
  pool.for_each(pieces_of(rows_), [&](std::size_t p) {
    Floats values(columns_ * piece_rows);
    x.panel(p, values.data());
    const Eigen::Map<const Eigen::MatrixXf> in(values.data(), height, width);
    Eigen::Map<Eigen::MatrixXf> out(to + p * stride(), height, width);
    if (columns_ <= double_columns)
      out = (in.cast<double>() * matrix.triangularView<Eigen::Upper>()).cast<float>();
    else
      out.noalias() = in * matrix_float.triangularView<Eigen::Upper>();
  });
}

void PanelColumns::multiply(std::span<const double> v, const float* base, float* out,
                            ThreadPool& pool) const {
  pool.for_each(pieces_of(rows_), [&](std::size_t p) {
    const std::size_t begin = p * piece_rows, end = std::min(begin + piece_rows, padded_rows(rows_));
    std::vector<double> sums(piece_rows, 0.0);
    for (std::size_t j = 0; j < columns_; ++j) {
      const float* x = column(j) + p * stride();
      for (std::size_t i = 0; i < piece_rows; ++i) sums[i] += v[j] * static_cast<double>(x[i]);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const double start = base ? static_cast<double>(base[i]) : 0.0;
      out[i] = i < rows_ ? static_cast<float>(start + sums[i - begin]) : 0.0f;
    }
  });
}

}  // namespace onward::glm
