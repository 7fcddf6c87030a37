#pragma once
// A jet: all that a sampler asks of a model at a place on a line.

#include <cmath>
#include <span>

namespace onward {

/// How much of a jet is asked for: the value alone, also the slope, also the curvature.
enum class Order { value = 0, slope = 1, curvature = 2 };

/// Value f, slope ∇f·v and curvature vᵀ∇²f v of a log density at a place on a line with direction v.
/// Entries beyond the order asked for are 0.
template <class Real>
struct BasicJet {
  Real value{};
  Real slope{};
  Real curvature{};
};
using Jet = BasicJet<double>;

/// Jets along two lines through one place; their values are equal.
struct JetPair {
  Jet first, second;
};

using VectorView = std::span<const double>;

/// True if every entry is a number: a place where this is false is outside the support and is never moved to.
inline bool is_finite(const Jet& jet) {
  return std::isfinite(jet.value) && std::isfinite(jet.slope) && std::isfinite(jet.curvature);
}

}  // namespace onward
