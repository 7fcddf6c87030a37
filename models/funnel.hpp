#pragma once
// Neal's funnel as the paper has it: w ~ N(0, 3²), x_i ~ N(0, e^-w). The state is w, then the x's.

#include <cmath>
#include <cstddef>

#include "onward/target/line_view.hpp"

namespace onward::models {

struct FunnelDensity {
  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    using std::exp;
    const T w = t[0];
    const auto count = static_cast<double>(t.size() - 1);
    return -w * w / 18.0 + 0.5 * count * w - 0.5 * exp(w) * sum_of_squares(t.subspan(1));
  }
};

}  // namespace onward::models
