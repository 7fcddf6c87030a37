#pragma once
// The multivariate Student-t distribution around 0: a standard normal vector over one common random scale, so
// that all parameters are large together. Its tails fall off as a power, and along a line the log density is
// convex far out.

#include <cmath>
#include <cstddef>

#include "onward/target/line_view.hpp"

namespace onward::models {

struct StudentTDensity {
  double degrees_of_freedom = 3;

  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    using std::log1p;
    T squares(0.0);
    for (std::size_t i = 0; i < t.size(); ++i) squares += t[i] * t[i];
    const double power = 0.5 * (degrees_of_freedom + static_cast<double>(t.size()));
    return T(-power * log1p(squares / degrees_of_freedom));
  }
};

}  // namespace onward::models
