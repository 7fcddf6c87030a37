#pragma once
// A network made ready to be computed: layers become units (a product takes the relu after it along), and
// units know which tensors they read. Tensor 0 is the input, tensor u + 1 what unit u gives.

#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "memory.hpp"
#include "onward/net/description.hpp"
#include "product.hpp"

namespace onward::net {

struct Unit {
  Layer layer;
  std::size_t step;  ///< the number of its layer
  Shape in, out;
  std::size_t begin, end;   ///< its parameters in theta
  std::size_t product = 0;  ///< products: the number among those
  std::size_t norm = 0;     ///< batch norms: the first of their statistics
  std::size_t from = 0;     ///< residuals: the tensor to add
  bool relu = false;        ///< a product: with the relu after it
  /// A relu before max pooling leaves slopes to be masked after it, where there are fewer.
  bool leaves_mask = false, masks = false;

  bool is_product() const {
    return std::holds_alternative<Linear>(layer) || std::holds_alternative<Conv2d>(layer);
  }
  bool is_norm() const { return std::holds_alternative<BatchNorm>(layer); }
};

/// theta, or a direction, as units want it.
struct Weights {
  bool is_direction = false;          ///< units that it leaves alone are then not packed
  std::vector<PackedWeights> packed;  ///< a product each
  /// A unit each: a product's bias; a batch norm's scales, then shifts, its statistics worked in.
  std::vector<Floats> others;
  std::vector<char> moves;  ///< a unit each: whether any entry is not 0
};

class Plan {
 public:
  /// Weights are packed to suit pieces of so many rows.
  Plan(const Network& network, std::size_t piece);

  const std::vector<Unit>& units() const { return units_; }
  const Network& network() const { return network_; }
  const Product& product(const Unit& unit) const { return products_[unit.product]; }
  /// The last unit that reads a tensor; units().size() for what the network gives.
  std::size_t last_use(std::size_t tensor) const { return last_use_[tensor]; }
  const Shape& shape(std::size_t tensor) const;

  /// Units before this one work on images: their activations are large and their products do not need many
  /// rows, so they take a few rows at a time. No tensor from before it is used after it, except its input.
  std::size_t trunk() const { return trunk_; }
  /// How many rows those take at a time: their activations stay in the second-level cache. It is the same for
  /// jets of every order, so that their values have the same bits.
  std::size_t chunk() const;
  /// Of units [first, end), for a row: what layers that are no products do is not counted.
  double flops(std::size_t first, std::size_t end) const;
  /// Whether nothing but this tensor is needed of those up to it.
  bool is_cut(std::size_t tensor) const;

  void prepare(std::size_t first_unit, std::size_t end_unit, std::size_t rows, bool tangents);
  void prepare_backward(std::size_t rows);

  Weights make_weights(bool direction) const;
  /// What those take, apart from biases and the like.
  std::size_t packed_bytes() const;
  /// Takes a unit's part of theta, or of a direction.
  void pack(std::size_t unit, float* theta, Weights& out, Workbench& bench) const;
  /// The same for the backward pass, which wants weights in another order.
  std::vector<PackedWeights> make_backward_weights() const;
  void pack_backward(std::size_t unit, float* theta, std::vector<PackedWeights>& out, Workbench& bench) const;

 private:
  void find_trunk();

  Network network_;
  std::vector<Unit> units_;
  std::vector<Product> products_;
  std::vector<std::size_t> last_use_;
  std::size_t trunk_ = 0;
};

}  // namespace onward::net
