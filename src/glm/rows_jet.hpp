#pragma once
// The log likelihood at a place on a line along which the predictor and the logs of the family's numbers may
// all move.

#include <algorithm>

#include "onward/glm/family.hpp"
#include "onward/glm/softmax.hpp"

namespace onward::glm {

/// `line` has eta, d and alpha; `numbers` are the family's there, and `turns` says how fast their logs move
/// (empty: not at all). Scratch memory is used where the predictor at the place is needed by itself.
inline Jet rows_jet(const Observations& y, RowLine line, const FamilyNumbers& numbers,
                    std::span<const double> turns, Order order, Floats& scratch, ThreadPool& pool) {
  line.numbers = numbers;
  const bool turning = std::ranges::any_of(turns, [](double turn) { return turn != 0; });
  const bool needs_moved = y.family() != Family::gaussian && turning && order != Order::value;
  if (needs_moved) {
    scratch.resize(padded_rows(y.rows()) * y.classes());
    line.moved = scratch.data();
  }
  const LineSums sums = y.classes() > 1 ? softmax_sums(y, line, pool) : y.sums(line, pool);
  Jet jet{sums.value + y.constant(numbers), sums.slope, sums.curvature};
  if (turning && y.family() == Family::gaussian) {
    const double turn = turns[0];
    jet.curvature += -4 * turn * jet.slope + 4 * turn * turn * sums.value;
    jet.slope += -turn * y.total_weight() - 2 * turn * sums.value;
  } else if (needs_moved) {
    double mixed = 0;
    const Jet by_numbers = y.number_jet(scratch.data(), numbers, turns, pool, line.d, &mixed);
    jet.slope += by_numbers.slope;
    jet.curvature += 2 * mixed + by_numbers.curvature;
  }
  return jet;
}

}  // namespace onward::glm
