#pragma once
// The funnel with derivatives written by hand: what a patient person would do without forward mode.

#include <cmath>
#include <cstddef>

#include "onward/target/jet.hpp"

namespace onward::bench {

class HandFunnel {
 public:
  explicit HandFunnel(std::size_t count) : count_(count) {}
  std::size_t dimension() const { return count_ + 1; }

  Jet jet(VectorView t, VectorView v, Order order) const {
    const double w = t[0], scale = std::exp(w), n = static_cast<double>(count_);
    double xx = 0, xv = 0, vv = 0;
    for (std::size_t i = 1; i <= count_; ++i) xx += t[i] * t[i];
    const double value = -w * w / 18 + 0.5 * n * w - 0.5 * scale * xx;
    if (order == Order::value) return {value, 0, 0};
    for (std::size_t i = 1; i <= count_; ++i) xv += t[i] * v[i];
    const double slope = -w * v[0] / 9 + 0.5 * n * v[0] - 0.5 * scale * (v[0] * xx + 2 * xv);
    if (order == Order::slope) return {value, slope, 0};
    for (std::size_t i = 1; i <= count_; ++i) vv += v[i] * v[i];
    const double curvature = -v[0] * v[0] / 9 - 0.5 * scale * (v[0] * v[0] * xx + 4 * v[0] * xv + 2 * vv);
    return {value, slope, curvature};
  }

 private:
  std::size_t count_;
};

}  // namespace onward::bench
