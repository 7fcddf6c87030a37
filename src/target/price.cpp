#include "onward/target/price.hpp"

namespace onward {

EvaluationPrice EvaluationPrice::of_dimension(std::size_t dimension) {
  EvaluationPrice price;
  const std::size_t passes = (dimension + 7) / 8;
  // 1.1 to 3.4 with one pass, 3.4 to 6.3 with two; 1.1 to 8 over the tape, the less the more of the model is
  // in functions of vectors.
  price.gradient = passes <= 3 ? 1.5 + 1.1 * static_cast<double>(passes) : 5;
  return price;
}

double EvaluationPrice::of(const Counts& c) const {
  return value * static_cast<double>(c.values) + slope * static_cast<double>(c.slopes) +
         curvature * static_cast<double>(c.curvatures) + slope_pair * static_cast<double>(c.slope_pairs) +
         curvature_pair * static_cast<double>(c.curvature_pairs) +
         gradient * static_cast<double>(c.gradients);
}

}  // namespace onward
