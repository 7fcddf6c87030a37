#include "block_values.hpp"

#include <algorithm>
#include <vector>

#include "row_loop.hpp"

namespace onward::glm {
namespace {

using Batch = simd::Batch<float>;
constexpr std::size_t lanes = simd::lanes_v<Batch>;
constexpr std::size_t rows_at_once = 128;  // of all columns: they stay in the nearest cache
constexpr std::size_t places_at_once = 8;  // accumulators for two registers of rows each
constexpr std::size_t step = 2 * lanes;

/// eta[k][row] = base[row] + sum_j x[j][row] u[j][k] for places_at_once places k.
void predict(const float* x, const float* u, std::size_t columns, const float* base, float* eta) {
  for (std::size_t row = 0; row < rows_at_once; row += step) {
    Batch low[places_at_once], high[places_at_once];
    for (std::size_t k = 0; k < places_at_once; ++k) {
      low[k] = Batch::load_aligned(base + row);
      high[k] = Batch::load_aligned(base + row + lanes);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      const Batch first = Batch::load_aligned(x + j * rows_at_once + row),
                  second = Batch::load_aligned(x + j * rows_at_once + row + lanes);
      for (std::size_t k = 0; k < places_at_once; ++k) {
        const Batch factor(u[j * places_at_once + k]);
        low[k] = simd::mul_add(first, factor, low[k]);
        high[k] = simd::mul_add(second, factor, high[k]);
      }
    }
    for (std::size_t k = 0; k < places_at_once; ++k) {
      low[k].store_aligned(eta + k * rows_at_once + row);
      high[k].store_aligned(eta + k * rows_at_once + row + lanes);
    }
  }
}

}  // namespace

void log_likelihoods(const PanelColumns& columns, const Observations& y, const float* base,
                     const Places& places, std::span<double> out, ThreadPool& pool) {
  const std::size_t width = columns.columns(), count = places.numbers.size();
  const std::size_t groups = (count + places_at_once - 1) / places_at_once;
  // Coefficients of a group's places beside each other; those that do not exist are 0.
  std::vector<float> u(groups * width * places_at_once, 0.0f);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t j = 0; j < width; ++j)
      u[(k / places_at_once * width + j) * places_at_once + k % places_at_once] =
          static_cast<float>(places.coefficients[k * width + j]);
  const std::size_t pieces = pieces_of(y.rows());
  std::vector<double> parts(pieces * count, 0.0);
  for_each_piece(y.rows(), pool, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    thread_local Floats x, eta(places_at_once * rows_at_once);
    x.resize(width * rows_at_once);
    for (std::size_t row = begin; row < end; row += rows_at_once) {
      const std::size_t here = std::min(rows_at_once, end - row), in_piece = row - begin;
      const float* from = columns.column(0) + piece * columns.stride() + in_piece;
      for (std::size_t j = 0; j < width; ++j)
        std::copy_n(from + j * piece_rows, rows_at_once, x.data() + j * rows_at_once);
      alignas(64) float at_base[rows_at_once] = {};
      std::copy_n(base + row, here, at_base);
      for (std::size_t g = 0; g < groups; ++g) {
        predict(x.data(), u.data() + g * width * places_at_once, width, at_base, eta.data());
        for (std::size_t k = g * places_at_once; k < std::min(count, (g + 1) * places_at_once); ++k)
          parts[k * pieces + piece] += y.value(
              row, row + here, eta.data() + (k - g * places_at_once) * rows_at_once, places.numbers[k]);
      }
    }
  });
  for (std::size_t k = 0; k < count; ++k)
    out[k] = tree_sum<double>(std::span<const double>(parts).subspan(k * pieces, pieces)) +
             y.constant(places.numbers[k]);
}

}  // namespace onward::glm
