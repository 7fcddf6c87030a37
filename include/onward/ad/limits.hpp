#pragma once
// std::numeric_limits for the scalars of this folder: those of the number they carry.

#include <limits>

#include "onward/ad/concepts.hpp"

/// The limits of one lane of the value; constants, so their slope is 0.
template <onward::AdScalar X>
class std::numeric_limits<X> : public std::numeric_limits<onward::simd::scalar_t<onward::scalar_t<X>>> {
  using Lane = std::numeric_limits<onward::simd::scalar_t<onward::scalar_t<X>>>;

 public:
  static constexpr X min() noexcept { return Lane::min(); }
  static constexpr X max() noexcept { return Lane::max(); }
  static constexpr X lowest() noexcept { return Lane::lowest(); }
  static constexpr X epsilon() noexcept { return Lane::epsilon(); }
  static constexpr X round_error() noexcept { return Lane::round_error(); }
  static constexpr X infinity() noexcept { return Lane::infinity(); }
  static constexpr X quiet_NaN() noexcept { return Lane::quiet_NaN(); }
  static constexpr X signaling_NaN() noexcept { return Lane::signaling_NaN(); }
  static constexpr X denorm_min() noexcept { return Lane::denorm_min(); }
};
