#pragma once
// Memory that the moves of chains with groups work in.

#include <vector>

#include "onward/glm/family.hpp"

namespace onward::glm {

/// Memory that a thread uses for one chain after the other.
struct GroupScratch {
  std::vector<double> here, there, noise, tests, before;
  std::vector<float> delta;
  Floats direction, slopes, moved;
};
inline GroupScratch& group_scratch() {
  thread_local GroupScratch mine;
  return mine;
}

}  // namespace onward::glm
