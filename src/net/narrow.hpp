#pragma once
// Networks of linear layers none of which is wide, with rows of the data across SIMD lanes.
//
// A matrix product of a hundred by a hundred is over before a general library has packed its weights and
// looked up its kernel. With rows across lanes, out[o] = sum over i of W[o][i] in[i] is numbers times
// registers, so weights serve in the order they come in, and a slope's two products are one loop.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "memory.hpp"
#include "onward/net/data.hpp"
#include "plan.hpp"

namespace onward::net {

class NarrowNetwork {
 public:
  /// Linear layers and activations alone, no layer too wide.
  static bool takes(const Layout& layout);
  /// Rows that go through all layers at a time: what they leave between layers stays in the first-level
  /// cache.
  static std::size_t chunk();

  /// The plan must outlive it, and its network be one that is taken.
  explicit NarrowNetwork(const Plan& plan);

  /// Where a network stands, and the line through it.
  struct Line {
    const float* theta = nullptr;
    const float* v = nullptr;     ///< null for order 0
    std::span<const char> moves;  ///< a unit each: whether v has an entry there
  };

  /// What one thread needs.
  struct Memory {
    std::array<Floats, 2> tensors;
    Floats rows, outputs;
  };

  /// Whether the values that units give can be kept for the next jet at the same place.
  bool keeps_values() const { return keeps_values_; }
  /// Numbers to keep for so many rows.
  std::size_t kept_size(std::size_t rows) const;

  /// Values of all units for a piece, in an order of its own: where to keep them, or null; and how many
  /// units, from the first, they are known of: all, or those before a line's layer, from the place before.
  struct Values {
    float* kept = nullptr;
    const float* before = nullptr;
    std::size_t known_units = 0;
  };

  /// Outputs of rows [first, first + rows), in `memory`. A value has the same bits in jets of every order.
  Stack forward(const Inputs& inputs, std::size_t first, std::size_t rows, std::size_t order,
                const Line& line, const Values& values, Memory& memory) const;

  std::size_t bytes(std::size_t rows, std::size_t order) const;

 private:
  /// Activations of a chunk: number i of row r of part j is part[j][i * padded + r].
  struct Tensor {
    std::array<float*, 3> part{};
    std::size_t parts = 1;
  };
  void forward_linear(const Unit& unit, std::size_t number, std::size_t padded, std::size_t order,
                      const Line& line, bool value_known, const Tensor& in, Tensor& out) const;

  const Plan* plan_;
  std::size_t widest_ = 0, outputs_ = 0, kept_per_row_ = 0;
  bool keeps_values_ = true;
};

}  // namespace onward::net
