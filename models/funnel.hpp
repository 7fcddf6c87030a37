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
    T squares(0.0);
    for (std::size_t i = 1; i < t.size(); ++i) squares += t[i] * t[i];
    const auto count = static_cast<double>(t.size() - 1);
    return -w * w / 18.0 + 0.5 * count * w - 0.5 * exp(w) * squares;
  }
};

}  // namespace onward::models
