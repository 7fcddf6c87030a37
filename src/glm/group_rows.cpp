#include "group_rows.hpp"

#include <algorithm>
#include <array>

#include "row_loop.hpp"

namespace onward::glm {
namespace {

constexpr std::size_t stretch = 1024;  // rows at a time: their buffers stay in the nearest cache
using Buffer = std::array<float, stretch>;

/// A shift of a row, by the level it belongs to.
inline float shift(const GroupTerm& term, std::size_t row, std::size_t level, const float* delta) {
  const std::size_t q = term.width();
  const float* of_level = delta + level * q;
  float sum = 0;
  for (std::size_t c = 0; c < q; ++c) sum += term.value(c, row) * of_level[c];
  return sum;
}

bool is_intercept(const GroupTerm& term) { return term.width() == 1 && term.values[0].empty(); }

}  // namespace

GroupRows::GroupRows(const Observations& y, const GroupTerm& term) : y_(y), term_(term) {
  // Each part has sums of its own for all levels: no more of them than the rows can pay for.
  constexpr std::size_t most = 8;
  const std::size_t rows = y.rows(), pieces = pieces_of(rows);
  parts_ = std::clamp<std::size_t>(rows / (8 * term.count() + 1), 1, std::min(most, pieces));
  part_rows_ = (pieces + parts_ - 1) / parts_ * piece_rows;
}

template <class Code>
void GroupRows::sums_of_part(std::size_t begin, std::size_t end, const Code* level, const float* eta,
                             const float* delta, std::span<const double> of_family, double* out) const {
  alignas(64) Buffer place, value, slope, weight;
  const std::size_t q = term_.width(), each = numbers();
  const bool ones = is_intercept(term_);
  for (std::size_t first = begin; first < end; first += stretch) {
    const std::size_t count = std::min(stretch, end - first);
    const float* at = eta + first;
    if (delta) {
      if (ones)
        for (std::size_t i = 0; i < count; ++i) place[i] = at[i] + delta[level[first + i]];
      else
        for (std::size_t i = 0; i < count; ++i)
          place[i] = at[i] + shift(term_, first + i, level[first + i], delta);
      // Rows of the last register that do not exist.
      std::fill(
          place.begin() + static_cast<std::ptrdiff_t>(count),
          place.begin() + static_cast<std::ptrdiff_t>((count + block_rows - 1) / block_rows * block_rows),
          0.0f);
      at = place.data();
    }
    y_.jets(first, first + count, at, of_family, value.data(), slope.data(), weight.data());
    if (ones) {
      for (std::size_t i = 0; i < count; ++i) {
        double* sum = out + std::size_t{3} * level[first + i];
        sum[0] += static_cast<double>(value[i]);
        sum[1] += static_cast<double>(slope[i]);
        sum[2] += static_cast<double>(weight[i]);
      }
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      double* sum = out + each * level[first + i];
      sum[0] += static_cast<double>(value[i]);
      double* hessian = sum + 1 + q;
      for (std::size_t c = 0; c < q; ++c) {
        const double z = static_cast<double>(term_.value(c, first + i));
        sum[1 + c] += z * static_cast<double>(slope[i]);
        const double zw = z * static_cast<double>(weight[i]);
        for (std::size_t k = 0; k <= c; ++k)
          *hessian++ += zw * static_cast<double>(term_.value(k, first + i));
      }
    }
  }
}

void GroupRows::sums(const float* eta, const float* delta, std::span<const double> of_family,
                     std::span<double> out, ThreadPool& pool) const {
  const std::size_t rows = y_.rows(), size = term_.count() * numbers();
  thread_local std::vector<double> all;
  auto& parts = all;
  std::fill(out.begin(), out.end(), 0.0);
  const auto sum_part = [&](std::size_t p, double* to) {
    term_.level_of_row.visit([&](const auto* level) {
      sums_of_part(std::min(p * part_rows_, rows), std::min((p + 1) * part_rows_, rows), level, eta, delta,
                   of_family, to);
    });
  };
  const auto add = [&](const double* part) {
    for (std::size_t i = 0; i < size; ++i) out[i] += part[i];
  };
  if (pool.threads() == 1) {  // one part after the other in the same memory: the same sums, in the same order
    sum_part(0, out.data());
    for (std::size_t p = 1; p < parts_; ++p) {
      parts.assign(size, 0.0);
      sum_part(p, parts.data());
      add(parts.data());
    }
    return;
  }
  parts.assign((parts_ - 1) * size, 0.0);
  pool.for_each(parts_,
                [&](std::size_t p) { sum_part(p, p == 0 ? out.data() : parts.data() + (p - 1) * size); });
  for (std::size_t p = 1; p < parts_; ++p) add(parts.data() + (p - 1) * size);
}

void GroupRows::move(float* eta, const float* delta, ThreadPool& pool) const {
  for_each_piece(y_.rows(), pool, [&](std::size_t, std::size_t begin, std::size_t end) {
    move(begin, end, eta + begin, delta);
  });
}

void GroupRows::move(std::size_t begin, std::size_t end, float* eta, const float* delta) const {
  const bool ones = is_intercept(term_);
  term_.level_of_row.visit([&](const auto* level) {
    if (ones)
      for (std::size_t i = begin; i < end; ++i) eta[i - begin] += delta[level[i]];
    else
      for (std::size_t i = begin; i < end; ++i) eta[i - begin] += shift(term_, i, level[i], delta);
  });
}

void GroupRows::direction(std::size_t column, std::span<const float> effects, std::size_t begin,
                          std::size_t end, float* out) const {
  const Floats& z = term_.values[column];
  term_.level_of_row.visit([&](const auto* level) {
    if (z.empty())
      for (std::size_t i = begin; i < end; ++i) out[i - begin] = effects[level[i]];
    else
      for (std::size_t i = begin; i < end; ++i) out[i - begin] = z[i] * effects[level[i]];
  });
}

}  // namespace onward::glm
