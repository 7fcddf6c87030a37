#pragma once
// The log likelihood at a place on a line along which the predictor and the log scale may both move.

#include "onward/glm/family.hpp"
#include "onward/glm/softmax.hpp"

namespace onward::glm {

/// `line` has eta, d and alpha; `log_scale` is what it is there, and `turn` how fast it moves. Scratch
/// memory is used where the predictor at the place is needed by itself.
inline Jet rows_jet(const Observations& y, RowLine line, double log_scale, double turn, Order order,
                    Floats& scratch, ThreadPool& pool) {
  const double scale = std::exp(log_scale);
  line.scale = scale;
  const bool needs_moved = y.family() != Family::gaussian && turn != 0 && order != Order::value;
  if (needs_moved) {
    scratch.resize(padded_rows(y.rows()) * y.classes());
    line.moved = scratch.data();
  }
  const LineSums sums = y.classes() > 1 ? softmax_sums(y, line, pool) : y.sums(line, pool);
  Jet jet{sums.value + y.constant(scale), sums.slope, sums.curvature};
  if (turn != 0 && y.family() == Family::gaussian) {
    jet.curvature += -4 * turn * jet.slope + 4 * turn * turn * sums.value;
    jet.slope += -turn * y.total_weight() - 2 * turn * sums.value;
  } else if (needs_moved) {
    double mixed = 0;
    const Jet by_scale = y.scale_jet(scratch.data(), log_scale, pool, line.d, &mixed);
    jet.slope += turn * by_scale.slope;
    jet.curvature += 2 * turn * mixed + turn * turn * by_scale.curvature;
  }
  return jet;
}

}  // namespace onward::glm
