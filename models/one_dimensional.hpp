#pragma once
// Distributions of one number on which a kernel can get stuck: tails where the curvature of the log density
// goes to 0 while the slope does not. (Student's t, whose slope vanishes too, is in student_t.hpp.)

#include <cmath>

#include "onward/ad/ad.hpp"
#include "onward/target/line_view.hpp"

namespace onward::models {

/// The logistic distribution: both tails linear. Mean 0, variance π²/3.
struct LogisticDistribution {
  template <class V>
  auto operator()(const V& t) const {
    const scalar_of<V> x = t[0];
    return x - 2.0 * softplus(x);
  }
};

/// The logarithm of a gamma variable of rate 1: one tail linear, the other double exponential. Mean
/// digamma(shape), variance trigamma(shape); for shape 1 these are -γ and π²/6.
struct LogGammaDistribution {
  double shape = 1;

  template <class V>
  auto operator()(const V& t) const {
    using std::exp;
    const scalar_of<V> x = t[0];
    return shape * x - exp(x);
  }
};

/// The logarithm of a half-Cauchy variable of scale 1, the usual prior of a scale parameter: both tails
/// linear, of different make. Mean 0, variance π²/4.
struct LogHalfCauchyDistribution {
  template <class V>
  auto operator()(const V& t) const {
    const scalar_of<V> x = t[0];
    return x - softplus(2.0 * x);
  }
};

}  // namespace onward::models
