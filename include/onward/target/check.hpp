#pragma once
// Whether a target's derivatives are those of its value: found by differences before a run, since a sampler
// that is told wrong slopes says nothing, and is slow or wrong.
//
//     for (const auto& problem : onward::check_derivatives(target, place)) std::cerr << problem << '\n';

#include <cstdint>
#include <string>
#include <vector>

#include "onward/target/target.hpp"

namespace onward {

struct DerivativeCheck {
  /// Also the curvature, beside differences of slopes. Not every curvature is meant to be the second
  /// derivative: that of observed() is not.
  bool curvature = false;
  std::uint64_t seed = 1;      ///< of the direction along which it looks
  std::size_t most_axes = 50;  ///< along which it looks for the parameter that is to blame
};

/// A sentence for each that disagrees with the target's values about this place: its slope, its gradient, its
/// curvature. It names the parameter for which they differ most, and both figures. Empty if all agree, or
/// where the target has no density. Costs two to six values where there is nothing wrong.
std::vector<std::string> check_derivatives(AnyTarget target, VectorView place,
                                           const DerivativeCheck& options = {});

}  // namespace onward
