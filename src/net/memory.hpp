#pragma once
// Arrays that the layers work on: activations are rows of channels-last images, and a jet is a stack of them.

#include <cstddef>
#include <vector>

#include <xsimd/xsimd.hpp>

namespace onward::net {

/// Floats that start at a cache line.
using Floats = std::vector<float, xsimd::aligned_allocator<float, 64>>;

/// Activations along a line as the coefficients of their Taylor polynomial in alpha: value, slope and half
/// the curvature. Coefficients rather than derivatives: products then need no factor of 2.
struct Stack {
  float* data = nullptr;
  std::size_t stride = 0;  ///< from a part to the next
  std::size_t parts = 1;   ///< those that are not zero: 1 to 3

  float* part(std::size_t j) const { return data + j * stride; }
};

}  // namespace onward::net
