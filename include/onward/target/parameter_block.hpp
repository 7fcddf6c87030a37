#pragma once
// Parameters that belong together, such as those of one layer of a network.

#include <cstddef>
#include <string>

namespace onward {

/// So many successive parameters by one name. The first block begins with the first parameter.
struct ParameterBlock {
  std::string name;
  std::size_t size;
};

}  // namespace onward
