#include "onward/glm/design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/simd/batch.hpp"

namespace onward::glm {
namespace {

void check_size(std::size_t rows, std::size_t columns, bool intercept) {
  if (rows == 0) throw Error("the design has no rows");
  if (columns == 0 && !intercept) throw Error("the design has no columns");
}

void check_shape(std::size_t rows, std::size_t columns, bool intercept, std::size_t values,
                 const char* what) {
  check_size(rows, columns, intercept);
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

/// The rows of a matrix, one after the other.
template <class T>
Design::RowSource rows_of(std::span<const T> values, std::size_t columns) {
  return [values, columns](std::size_t i, std::span<double> row) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * columns), columns, row.begin());
  };
}

}  // namespace

Design Design::from_rows(std::size_t rows, std::size_t columns, bool intercept, const RowSource& source,
                         std::span<const std::string> names) {
  check_size(rows, columns, intercept);
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

Design Design::from_columns(std::size_t rows, std::size_t columns, bool intercept, const ColumnSource& source,
                            std::span<const std::string> names, ThreadPool& pool, bool store_ones) {
  check_size(rows, columns, intercept);
  const std::size_t first = intercept && store_ones ? 1 : 0, width = columns + first;
  Design x(Storage::floats, rows, width, intercept);
  x.intercept_ = intercept && !store_ones;
  x.floats_.reserve(pieces_of(rows) * piece_rows * width);
  x.floats_.resize(padded_rows(rows) * width, 0.0f);
  const auto at = [&](std::size_t i, std::size_t j) -> float& {
    return x.floats_[i / block_rows * width * block_rows + j * block_rows + i % block_rows];
  };
  for (std::size_t i = 0; first > 0 && i < rows; ++i) at(i, 0) = 1;
  std::vector<ColumnSums> sums(columns);
  std::vector<double> origin(columns);
  pool.for_each(columns, [&](std::size_t j) {
    std::vector<double> part(std::min(piece_rows, rows));
    for (std::size_t begin = 0; begin < rows; begin += part.size()) {
      const std::span<double> values(part.data(), std::min(part.size(), rows - begin));
      source(j, begin, values);
      if (begin == 0) origin[j] = values[0];
      for (std::size_t i = 0; i < values.size(); ++i) {
        check_entry(begin + i, j, values[i], names);
        sums[j].add(values[i] - origin[j]);
        at(begin + i, first + j) = static_cast<float>(values[i]);
      }
    }
  });
  for (std::size_t j = 0; j < columns; ++j) check_spread(j, origin[j], sums[j], rows, names);
  return x;
}

Design Design::dense(std::span<const float> values, std::size_t rows, std::size_t columns, bool intercept) {
  check_shape(rows, columns, intercept, values.size(), "numbers");
  return from_rows(rows, columns, intercept, rows_of(values, columns));
}

Design Design::dense(std::span<const double> values, std::size_t rows, std::size_t columns, bool intercept) {
  check_shape(rows, columns, intercept, values.size(), "numbers");
  return from_rows(rows, columns, intercept, rows_of(values, columns));
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
  check_size(rows, count, intercept);
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
      check_entry(columns.rows[e], j, columns.values[e], {});
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
  const std::size_t stored_ones = ones_ && !intercept_ ? 1 : 0;
  pool.for_each(blocks(), [&](std::size_t b) {
    const std::size_t count = std::min(block_rows, rows_ - b * block_rows);
    for (std::size_t j = stored_ones; j < columns_; ++j) {
      float* values = floats_.data() + (b * columns_ + j) * block_rows;
      const double less = from_columns[first - stored_ones + j];
      for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(static_cast<double>(values[i]) - less);
    }
  });
}

std::size_t Design::memory() const {
  return floats_.size() * sizeof(float) + bytes_.size() + nonzero_.size() * sizeof(std::uint32_t) +
         starts_.size() * sizeof(std::size_t) + sparse_rows_.size() * (sizeof(std::uint16_t) + sizeof(float));
}

/// The rows of a piece of a column that is stored, as many as there are.
void Design::copy_stored(std::size_t piece, std::size_t j, float* out) const {
  const std::size_t begin = piece * piece_rows, count = std::min(piece_rows, rows_ - begin);
  if (storage_ == Storage::sparse) {
    std::fill_n(out, count, 0.0f);
    for (std::size_t e = starts_[piece * columns_ + j]; e < starts_[piece * columns_ + j + 1]; ++e)
      out[sparse_rows_[e]] += sparse_values_[e];
  } else {
    for (std::size_t row = 0; row < count; row += block_rows) {
      const std::size_t at = (begin + row) * columns_ + j * block_rows,
                        many = std::min(block_rows, count - row);
      if (storage_ == Storage::floats)
        std::copy_n(floats_.data() + at, many, out + row);
      else
        for (std::size_t i = 0; i < many; ++i)
          out[row + i] = simd::mul_add(scale_, static_cast<float>(bytes_[at + i]), shift_);
    }
  }
  // What products make up for is taken off here.
  for (std::size_t i = 0; i < count && !subtracted_.empty(); ++i)
    out[i] = static_cast<float>(static_cast<double>(out[i]) - subtracted_[j]);
}

void Design::column(std::size_t j, float* out) const {
  if (intercept_ && j == 0)
    std::fill_n(out, rows_, 1.0f);
  else
    for (std::size_t p = 0; p < pieces_of(rows_); ++p)
      copy_stored(p, j - (intercept_ ? 1 : 0), out + p * piece_rows);
  std::fill(out + rows_, out + padded_rows(rows_), 0.0f);
}

void Design::panel(std::size_t piece, float* out) const {
  const std::size_t first = intercept_ ? 1 : 0;
  std::fill(out, out + columns() * piece_rows, 0.0f);
  if (intercept_) std::fill_n(out, std::min(piece_rows, rows_ - piece * piece_rows), 1.0f);
  for (std::size_t j = 0; j < columns_; ++j) copy_stored(piece, j, out + (first + j) * piece_rows);
}

}  // namespace onward::glm
