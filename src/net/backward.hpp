#pragma once
// The backward pass, for baseline MALA and for training: derivatives of a loss by all parameters, from
// activations that were kept.

#include <cstddef>
#include <vector>

#include "forward.hpp"
#include "memory.hpp"
#include "plan.hpp"

namespace onward::net {

/// Activations of some rows. Some tensors are kept; those between two of them are there for one such segment
/// at a time, in the same memory.
class Tape {
 public:
  /// `kept` goes from tensor 0 to the last.
  Tape(const Plan& plan, std::vector<std::size_t> kept, std::size_t rows);
  float* tensor(std::size_t number) { return memory_.data() + places_[number]; }
  Stack stack(std::size_t number) { return {tensor(number), 0, 1}; }
  const std::vector<std::size_t>& kept() const { return kept_; }

 private:
  std::vector<std::size_t> kept_, places_;
  Floats memory_;
};

/// Computes units [first, end) and keeps what they give; tensor `first` is on the tape already.
void forward_on_tape(const Plan& plan, std::size_t first, std::size_t end, std::size_t rows,
                     const Weights& theta, Tape& tape, Workbench& bench);

/// The loss's derivatives by tensors, as far as they are needed at the time.
class Adjoints {
 public:
  explicit Adjoints(const Plan& plan) : by_tensor_(plan.units().size() + 1) {}
  /// An array for derivatives by a tensor: contents are undefined. Hand it back with give().
  Floats take(std::size_t size);
  /// Adds to what is known about a tensor.
  void give(std::size_t tensor, Floats derivatives, std::size_t size);
  Floats& by(std::size_t tensor) { return by_tensor_[tensor]; }
  void forget(std::size_t tensor);

 private:
  std::vector<Floats> by_tensor_, spare_;
};

/// From derivatives by tensor `end` to those by tensor `first`, which are left out if `first` is 0.
/// Derivatives by parameters of the units in between go to their places in `gradient`.
void backward(const Plan& plan, std::size_t first, std::size_t end, std::size_t rows, const Weights& theta,
              const std::vector<PackedWeights>& backward_weights, Tape& tape, Adjoints& adjoints,
              float* gradient, Workbench& bench);

/// One unit of it, batch norms excepted.
void backward_unit(const Plan& plan, std::size_t unit, std::size_t rows,
                   const std::vector<PackedWeights>& backward_weights, Tape& tape, Adjoints& adjoints,
                   float* gradient, Workbench& bench);

/// Tensors to keep on a tape so that it is small.
std::vector<std::size_t> checkpoints(const Plan& plan);
/// The size of a tape for one row.
std::size_t tape_floats(const Plan& plan, const std::vector<std::size_t>& kept);

}  // namespace onward::net
