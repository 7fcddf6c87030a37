#include "onward/target/price.hpp"

namespace onward {

EvaluationPrice EvaluationPrice::of_dimension(std::size_t dimension) {
  EvaluationPrice price;
  const std::size_t passes = (dimension + 7) / 8;
  // 2.0 to 4.3 with one pass, 2.6 to 7.4 with two, 4.3 with four of a model whose rows dwarf it; 12 to 17
  // over a tape.
  price.gradient = passes <= 4 ? 1.5 + 1.4 * static_cast<double>(passes) : 14;
  return price;
}

double EvaluationPrice::of(const Counts& c) const {
  return value * static_cast<double>(c.values) + slope * static_cast<double>(c.slopes) +
         curvature * static_cast<double>(c.curvatures) + slope_pair * static_cast<double>(c.slope_pairs) +
         curvature_pair * static_cast<double>(c.curvature_pairs) +
         gradient * static_cast<double>(c.gradients);
}

}  // namespace onward
