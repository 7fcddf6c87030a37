#pragma once
// Simulators outside this process as forward maps, for observed(), and as log densities.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onward/simulator/priors.hpp"
#include "onward/simulator/simulator.hpp"
#include "onward/target/observed.hpp"

namespace onward {

/// How much a simulator offers besides its outputs. It is part of a forward map's type.
enum class JacobianBy { differences, itself, itself_beside_outputs };

/// A simulator that is copied by opening another connection.
class SimulatorConnection {
 public:
  explicit SimulatorConnection(std::unique_ptr<Simulator> simulator) : simulator_(std::move(simulator)) {}
  SimulatorConnection(const SimulatorConnection& other) : simulator_(other.simulator_->clone()) {}
  SimulatorConnection(SimulatorConnection&&) noexcept = default;
  SimulatorConnection& operator=(const SimulatorConnection& other) {
    if (this != &other) simulator_ = other.simulator_->clone();
    return *this;
  }
  SimulatorConnection& operator=(SimulatorConnection&&) noexcept = default;
  ~SimulatorConnection() = default;
  Simulator& operator*() const { return *simulator_; }
  Simulator* operator->() const { return simulator_.get(); }

 private:
  std::unique_ptr<Simulator> simulator_;
};

/// A forward map (target/forward.hpp) whose outputs come from outside. The template says what it is to offer,
/// which the simulator must have.
template <JacobianBy jacobian = JacobianBy::differences, bool transposed = false>
class OutsideForward {
 public:
  explicit OutsideForward(std::unique_ptr<Simulator> simulator) : simulator_(std::move(simulator)) {}

  std::size_t inputs() const { return simulator_->facts().input_count(); }
  std::size_t outputs() const { return simulator_->facts().output_count(); }
  void apply(VectorView x, std::span<double> out) const { simulator_->evaluate(x, out); }
  void apply_jacobian(VectorView x, VectorView v, std::span<double> tangent) const
      requires(jacobian == JacobianBy::itself) {
    simulator_->apply_jacobian(x, v, {}, tangent);
  }
  void apply_jacobian(VectorView x, VectorView v, std::span<double> out, std::span<double> tangent) const
      requires(jacobian == JacobianBy::itself_beside_outputs) {
    simulator_->apply_jacobian(x, v, out, tangent);
  }
  void apply_transposed(VectorView x, VectorView s, std::span<double> out) const requires(transposed) {
    simulator_->apply_transposed(x, s, out);
  }

 private:
  SimulatorConnection simulator_;
};

/// A simulator whose single output is a log density, or a log likelihood where priors are more than flat.
/// Slope and curvature are what it offers, and central differences along the line where it offers none: a
/// rule that is the same there and back, so that samplers stay exact.
class OutsideDensity {
 public:
  /// Throws UsageError unless there is one output, and a prior for each input.
  OutsideDensity(std::unique_ptr<Simulator> simulator, InputPriors priors, double difference_step = 1e-4);

  std::size_t dimension() const { return priors_.dimension(); }
  std::vector<std::string> names() const { return priors_.names(); }
  void constrain(VectorView u, std::span<double> out) const;
  Jet jet(VectorView u, VectorView v, Order order);
  const Simulator& simulator() const { return *simulator_; }

 protected:
  double gradient_at(VectorView u, std::span<double> out);

 private:
  double output_at(VectorView x);
  /// The simulator's output, or its slope along v, at u + step v; nothing if it has none there.
  std::optional<double> beside(VectorView u, VectorView v, double step, Order order);
  double slope_here();
  double curvature_here();
  Jet place(VectorView u, VectorView v);

  SimulatorConnection simulator_;
  InputPriors priors_;
  double step_;
  std::vector<double> x_, dx_, ddx_, product_, known_at_, beside_;
  double known_ = 0;  // the output at known_at_: samplers ask again about where they are
};

class OutsideDensityWithGradient : public OutsideDensity {
 public:
  using OutsideDensity::OutsideDensity;
  double gradient(VectorView u, std::span<double> out) { return gradient_at(u, out); }
};

}  // namespace onward
