#pragma once
// A simulator outside this process: numbers go in and numbers come out, and it may offer derivatives.
// UM-Bridge servers (umbridge.hpp) and programs (program.hpp) are simulators; simulator/forward.hpp makes
// forward maps and log densities of them.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onward/target/jet.hpp"

namespace onward {

/// What a simulator says of itself.
struct SimulatorFacts {
  std::string name;                  ///< for messages: its address, or the program
  std::vector<std::size_t> inputs;   ///< sizes of its input vectors, which are one after another here
  std::vector<std::size_t> outputs;  ///< of its output vectors
  std::vector<std::string> input_names = {};  ///< one for each number, or none
  bool jacobian = false;                      ///< J v
  bool outputs_beside = false;                ///< J v comes with the outputs, at the price of one run
  bool gradient = false;                      ///< Jᵀ s
  bool hessian = false;                       ///< the derivative of Jᵀ s along v

  std::size_t input_count() const;
  std::size_t output_count() const;
};

/// One connection to it, for one chain. All calls throw std::domain_error for a place that it cannot
/// simulate, Error if it is out of order, and Stopped if the run is told to stop meanwhile. Equal inputs must
/// give equal outputs. Numbers that are not finite are NaN or infinite here, whatever they are on the way.
class Simulator {
 public:
  virtual ~Simulator() = default;
  Simulator() = default;
  Simulator& operator=(const Simulator&) = delete;

  /// Another connection, which is opened when it is first used.
  virtual std::unique_ptr<Simulator> clone() const = 0;
  virtual const SimulatorFacts& facts() const = 0;

  virtual void evaluate(VectorView x, std::span<double> out) = 0;
  /// J v. Where facts().outputs_beside, also the outputs.
  virtual void apply_jacobian(VectorView x, VectorView v, std::span<double> out,
                              std::span<double> tangent) = 0;
  /// Jᵀ s.
  virtual void apply_transposed(VectorView x, VectorView s, std::span<double> out) = 0;
  /// What Jᵀ s changes by along v.
  virtual void apply_hessian(VectorView x, VectorView s, VectorView v, std::span<double> out) = 0;

 protected:
  Simulator(const Simulator&) = default;
};

}  // namespace onward
