#pragma once
// Memory that the moves of chains with groups work in: numbers for each level, and of rows no more than a
// piece at a time. With a million rows each array of all rows would be as large as a column of the data.

#include <array>
#include <vector>

#include "onward/glm/family.hpp"

namespace onward::glm {

/// Memory that a thread uses for one chain after the other.
struct GroupScratch {
  std::vector<double> here, there, noise, tests, before;
  std::vector<float> delta;
};
inline GroupScratch& group_scratch() {
  thread_local GroupScratch mine;
  return mine;
}

/// Rows of a piece, for the thread that has it.
struct PieceScratch {
  alignas(64) std::array<float, piece_rows> direction, place;
};
inline PieceScratch& piece_scratch() {
  thread_local PieceScratch mine;
  return mine;
}

}  // namespace onward::glm
