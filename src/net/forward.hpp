#pragma once
// Jets through the units of a network: the values of a few rows, and with them slopes and curvatures, go from
// unit to unit in memory that is used over and over.

#include <cstddef>
#include <vector>

#include "memory.hpp"
#include "onward/net/data.hpp"
#include "plan.hpp"

namespace onward::net {

/// Memory for the tensors of a range of units: as many slots as tensors are needed at once, two in a plain
/// chain of layers.
class Slots {
 public:
  /// Tensor first_unit (what the units are given) to tensor end_unit (what they give).
  Slots(const Plan& plan, std::size_t first_unit, std::size_t end_unit);

  /// Makes room for stacks of so many parts and rows.
  void reserve(std::size_t rows, std::size_t parts);
  Stack tensor(std::size_t number);
  std::size_t bytes(std::size_t rows, std::size_t parts) const;

 private:
  std::size_t first_;
  std::vector<std::size_t> slot_;  // of each tensor
  std::size_t count_ = 0, largest_ = 0, part_ = 0, slot_size_ = 0;
  Floats memory_;
};

/// Where the network stands, and what is wanted there: values, a jet along v, or slopes along v and w.
struct Wanted {
  const Weights* theta;
  std::size_t order = 0;       ///< of the jet; with w it is 1
  const Weights* v = nullptr;  ///< null for order 0
  const Weights* w = nullptr;  ///< stacks are then value, slope along v, slope along w
  std::size_t parts() const { return w ? 3 : order + 1; }
};

/// Computes one unit for so many rows. `added` is what a residual adds. Data and stride of `out` are given.
void forward_unit(const Plan& plan, std::size_t unit, std::size_t rows, const Wanted& wanted, const Stack& in,
                  const Stack& added, Stack& out, Workbench& bench);

/// Computes units [first, end) for so many rows. `in` is tensor first; the last tensor goes to `out`.
Stack forward(const Plan& plan, std::size_t first, std::size_t end, std::size_t rows, const Wanted& wanted,
              Slots& slots, const Stack& in, Stack out, Workbench& bench);

/// What one thread needs for pieces of the data.
struct PieceMemory {
  explicit PieceMemory(const Plan& plan);
  Slots trunk, head;
  Workbench bench;
};

}  // namespace onward::net
