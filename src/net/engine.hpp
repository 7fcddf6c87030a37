#pragma once
// A network at a place, shown data piece by piece on the threads of a pool: what a posterior does before it
// looks at answers.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backward.hpp"
#include "forward.hpp"
#include "onward/net/posterior.hpp"
#include "plan.hpp"

namespace onward::net {

/// Sums over all parameters.
struct LineNorms {
  double theta_theta = 0, theta_v = 0, v_v = 0;
  bool fits = true;  ///< every entry of theta is a finite float
  LineNorms& operator+=(const LineNorms& other);
};

/// Lets items of a loop that were computed in any order be used in theirs. Items must be begun in order.
class InOrder {
 public:
  /// Calls use() when it was called for all items before. Does nothing once an item has failed.
  void use(std::size_t item, const std::function<void()>& use);
  void fail();

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::size_t next_ = 0;
  bool failed_ = false;
};

class Engine {
 public:
  Engine(std::shared_ptr<const Network> network, std::size_t piece, std::shared_ptr<ThreadPool> pool);

  const Plan& plan() const { return plan_; }
  std::size_t piece() const { return piece_; }
  ThreadPool& pool() { return *pool_; }

  /// Goes to theta, on a line along v (order 0: empty). Entries after the network's parameters are ignored.
  LineNorms place(VectorView theta, VectorView v);

  /// Calls use(first row, rows, outputs) for each piece, on any thread.
  using UseOutputs = std::function<void(std::size_t first, std::size_t rows, const Stack& outputs)>;
  void forward(const Inputs& inputs, std::size_t order, const UseOutputs& use);

  /// Calls loss(first row, rows, outputs, derivatives by them) for each piece, on any thread, and adds up
  /// derivatives by the parameters in `out`.
  using Loss =
      std::function<void(std::size_t first, std::size_t rows, const float* outputs, float* by_outputs)>;
  void gradient(const Inputs& inputs, GradientForm form, const Loss& loss, std::span<double> out);

  std::size_t forward_bytes(std::size_t order, std::size_t rows) const;
  std::size_t gradient_bytes(GradientForm form, std::size_t rows) const;

 private:
  /// What one thread needs for gradients.
  struct BackwardMemory {
    explicit BackwardMemory(const Plan& plan) : slots(plan, 0, plan.units().size()), adjoints(plan) {}
    Slots slots;
    Adjoints adjoints;
    std::unique_ptr<Tape> tape;  // not in the form that keeps all
    Floats gradient;
    Workbench bench;
  };
  /// Memory that threads take for an item and hand back.
  template <class Memory>
  struct Lender {
    std::mutex mutex;
    std::vector<std::unique_ptr<Memory>> idle;
    std::unique_ptr<Memory> take(const Plan& plan);
    void give(std::unique_ptr<Memory> memory);
  };

  std::size_t pieces(std::size_t rows) const { return (rows + piece_ - 1) / piece_; }
  std::size_t rows_of(std::size_t number, std::size_t rows) const;
  void prepare(std::size_t rows, std::size_t order);
  Stack piece_forward(const Inputs& inputs, std::size_t first, std::size_t rows, std::size_t order,
                      PieceMemory& memory);
  void tape_forward(const Inputs& inputs, std::size_t first, std::size_t rows, Tape& tape,
                    BackwardMemory& memory);
  void tape_backward(std::size_t first, std::size_t rows, Tape& tape, BackwardMemory& memory,
                     const Loss& loss);

  std::shared_ptr<const Network> network_;
  std::size_t piece_;
  std::shared_ptr<ThreadPool> pool_;
  Plan plan_;
  Floats theta_floats_, v_floats_;
  Weights theta_;
  std::optional<Weights> v_;
  std::optional<std::vector<PackedWeights>> backward_weights_;
  Lender<PieceMemory> piece_memory_;
  Lender<BackwardMemory> backward_memory_;
};

}  // namespace onward::net
