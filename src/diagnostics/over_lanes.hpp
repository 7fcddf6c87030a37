#pragma once
// A function of one number applied to an array, a register at a time. The bits are those of one number after
// the other.

#include <cstddef>
#include <span>

#include "onward/simd/batch.hpp"

namespace onward::detail {

/// out[i] = function(in[i]); the function takes a double or a batch of them.
template <class Function>
void over_lanes(std::span<const double> in, std::span<double> out, const Function& function) {
  using Lanes = simd::Batch<double>;
  constexpr std::size_t width = simd::lanes_v<Lanes>;
  std::size_t i = 0;
  for (; i + width <= in.size(); i += width) function(Lanes::load_unaligned(&in[i])).store_unaligned(&out[i]);
  for (; i < in.size(); ++i) out[i] = function(in[i]);
}

}  // namespace onward::detail
