#pragma once
// Sums over rows of what depends on a family's numbers, in double.

#include <vector>

#include "row_loop.hpp"

namespace onward::glm {

/// Value, derivatives along a direction of the numbers, and the mixed one along a direction of the predictor.
struct NumberSums {
  double value = 0, slope = 0, curvature = 0, mixed = 0;
  NumberSums& operator+=(const NumberSums& o) {
    value += o.value, slope += o.slope, curvature += o.curvature, mixed += o.mixed;
    return *this;
  }
};

/// The same of a register of rows.
struct NumberRow {
  simd::Batch<double> value, slope, curvature, mixed;
};

/// Sums row(i) over all rows, i being the first one of a register.
template <class Row>
NumberSums number_sums(std::size_t rows, ThreadPool& pool, const Row& row) {
  using T = simd::Batch<double>;
  std::vector<NumberSums> parts(pieces_of(rows));
  for_each_piece(rows, pool, [&](std::size_t p, std::size_t begin, std::size_t end) {
    RowSum<T> value, slope, curvature, mixed;
    for_each_group<T>(
        begin, end,
        [&](std::size_t i, std::size_t part, const simd::mask_t<T>* mask) {
          const NumberRow one = row(i);
          value.add(part, kept(one.value, mask));
          slope.add(part, kept(one.slope, mask));
          curvature.add(part, kept(one.curvature, mask));
          mixed.add(part, kept(one.mixed, mask));
        },
        [&] { value.end_chunk(), slope.end_chunk(), curvature.end_chunk(), mixed.end_chunk(); });
    parts[p] = {value.sum(), slope.sum(), curvature.sum(), mixed.sum()};
  });
  return tree_sum<NumberSums>(parts);
}

}  // namespace onward::glm
