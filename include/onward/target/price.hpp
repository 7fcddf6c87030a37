#pragma once
// What evaluations cost beside one plain evaluation of the density. A fixed table, measured on the built-in
// models by `onward bench jets`: whoever decides by it decides the same on every machine.

#include <cstddef>

#include "onward/target/target.hpp"

namespace onward {

struct EvaluationPrice {
  double value = 1, slope = 1.4, curvature = 2, slope_pair = 1.5, curvature_pair = 2.2;
  double gradient = 8;

  /// Gradients of generic callables go by eights of parameters in forward mode while there are few of them,
  /// and over a tape above.
  static EvaluationPrice of_dimension(std::size_t dimension);

  /// Plain evaluations that those cost as much as.
  double of(const Counts& counts) const;
};

}  // namespace onward
