#pragma once
// The forward algorithm for two hidden states.

#include <cstddef>

#include "onward/ad/functions.hpp"

namespace onward::posteriors {

/// The log likelihood of a chain of two states, uniform at first. to[j][k] is the log probability of going
/// from j to k, and log_density(t, k) that of what is seen at t in state k.
template <class T, class LogDensity>
T two_states(std::size_t steps, const T (&to)[2][2], const LogDensity& log_density) {
  T first = log_density(0, 0), second = log_density(0, 1);
  for (std::size_t t = 1; t < steps; ++t) {
    const T a = log_sum_exp(T(first + to[0][0]), T(second + to[1][0])) + log_density(t, 0);
    const T b = log_sum_exp(T(first + to[0][1]), T(second + to[1][1])) + log_density(t, 1);
    first = a;
    second = b;
  }
  return log_sum_exp(first, second);
}

}  // namespace onward::posteriors
