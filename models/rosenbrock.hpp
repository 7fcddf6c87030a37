#pragma once
// Rosenbrock's banana as a density, in pairs: x ~ N(1, 1/2), y | x ~ N(x², 1/200). Thin, curved, and its
// moments are known.

#include <cstddef>

#include "onward/target/line_view.hpp"

namespace onward::models {

struct RosenbrockDensity {
  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    T sum(0.0);
    for (std::size_t i = 0; i + 1 < t.size(); i += 2) {
      const T a = t[i] - 1.0;
      const T b = t[i + 1] - t[i] * t[i];
      sum += a * a + 100.0 * (b * b);
    }
    return -sum;
  }
};

}  // namespace onward::models
