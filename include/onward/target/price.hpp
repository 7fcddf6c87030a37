#pragma once
// What evaluations cost beside one plain evaluation of the density. A fixed table: whoever decides by it
// decides the same on every machine. Geometric means over the posteriors of `onward bench posteriors --parts
// prices`, which shows how far single models are from them.

#include <cstddef>

#include "onward/target/target.hpp"

namespace onward {

struct EvaluationPrice {
  double value = 1, slope = 1.15, curvature = 1.4, slope_pair = 1.3, curvature_pair = 1.6;
  double gradient = 3.7;

  /// Gradients of generic callables go by eights of parameters in forward mode while there are few of them,
  /// and over the tape above.
  static EvaluationPrice of_dimension(std::size_t dimension);

  /// Plain evaluations that those cost as much as.
  double of(const Counts& counts) const;
};

}  // namespace onward
