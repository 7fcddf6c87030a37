#pragma once
// A mixture of three normals of different weights and widths in five dimensions, near enough to each other
// that a chain can cross, far enough that it must: between them the log density is convex.

#include <array>
#include <cmath>
#include <cstddef>

#include "onward/ad/ad.hpp"
#include "onward/target/line_view.hpp"

namespace onward::models {

struct MixtureDensity {
  static constexpr std::size_t dimension = 5;

  /// weight · N(centre, width² I)
  struct Component {
    double weight, width;
    std::array<double, dimension> centre;
  };
  static constexpr std::array<Component, 3> components{
      {{0.5, 1.0, {0, 0, 0, 0, 0}}, {0.3, 0.7, {1.5, 1.5, 1.5, 1.5, 1.5}}, {0.2, 1.2, {2, -2, 2, -2, 0}}}};

  template <class V>
  auto operator()(const V& t) const {
    using T = scalar_of<V>;
    std::array<T, components.size()> terms;
    for (std::size_t k = 0; k < components.size(); ++k) {
      const auto& [weight, width, centre] = components[k];
      T squares(0.0);
      for (std::size_t i = 0; i < dimension; ++i) {
        const T z = t[i] - centre[i];
        squares += z * z;
      }
      terms[k] = squares * (-0.5 / (width * width)) +
                 (std::log(weight) - static_cast<double>(dimension) * std::log(width));
    }
    return log_sum_exp(terms);
  }
};

}  // namespace onward::models
