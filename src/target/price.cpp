#include "onward/target/price.hpp"

#include <algorithm>

namespace onward {

EvaluationPrice EvaluationPrice::of_dimension(std::size_t dimension) {
  EvaluationPrice price;
  const auto passes = static_cast<double>((dimension + 7) / 8);
  // Measured: 7.9 and 11.6 with two passes, 4.5 with four of a model whose rows dwarf it, 23 over a tape.
  price.gradient = std::min(2 + 3 * passes, 16.0);
  return price;
}

double EvaluationPrice::of(const Counts& c) const {
  return value * static_cast<double>(c.values) + slope * static_cast<double>(c.slopes) +
         curvature * static_cast<double>(c.curvatures) + slope_pair * static_cast<double>(c.slope_pairs) +
         curvature_pair * static_cast<double>(c.curvature_pairs) +
         gradient * static_cast<double>(c.gradients);
}

}  // namespace onward
