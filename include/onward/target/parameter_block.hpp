#pragma once
// Parameters that belong together, such as those of one layer of a network.

#include <cstddef>
#include <string>

namespace onward {

/// So many successive parameters by one name. The first block begins with the first parameter.
struct ParameterBlock {
  std::string name;
  std::size_t size;
  /// Of a layer: how many units it has, such as outputs or channels. The weights of each unit come one after
  /// the other, unit after unit, and at the end, if it has any, a bias for each.
  std::size_t units = 0;
  bool has_biases = false;
};

}  // namespace onward
