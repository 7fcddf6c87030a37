#pragma once
// From what a network gives to three numbers: sums over rows, in double, of the log likelihood and its
// derivatives along the line.

#include <cstddef>

#include "memory.hpp"
#include "onward/net/data.hpp"

namespace onward::net {

struct Sums {
  /// Softmax: log likelihood, slope, curvature. Gaussian: the sum of squared residuals r = y - z; of r z'; of
  /// r z'' - z'z'. What sigma makes of those is the posterior's business.
  double value = 0, slope = 0, curvature = 0;
  Sums& operator+=(const Sums& other) {
    value += other.value;
    slope += other.slope;
    curvature += other.curvature;
    return *this;
  }
};

/// Of the answers to rows [first, first + rows), whose outputs are given.
Sums likelihood_sums(const Answers& answers, std::size_t first, std::size_t rows, const Stack& outputs);

/// The same for the value alone, and its derivatives by the outputs: of the log likelihood (softmax), or of
/// half the sum of squares with the sign of a log likelihood (Gaussian).
double likelihood_backward(const Answers& answers, std::size_t first, std::size_t rows, const float* outputs,
                           float* by_outputs);

}  // namespace onward::net
