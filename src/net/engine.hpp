#pragma once
// A network at a place, shown data piece by piece on the threads of a pool: what a posterior does before it
// looks at answers.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backward.hpp"
#include "forward.hpp"
#include "narrow.hpp"
#include "onward/net/posterior.hpp"
#include "plan.hpp"

namespace onward::net {

/// A tensor of all rows that was kept: lines within the layers after it leave it as it is.
struct KeptTensor {
  std::size_t tensor = 0;  ///< its number; 0: none is kept
  Floats theta;            ///< the parameters of all units before it
  Floats rows;
};

/// Values of all units and rows of a narrow network. A line begins where the last one ended: there values are
/// known and slopes alone are new; and on a line within a layer all before it stay what they are.
struct KnownValues {
  bool filled = false;
  Floats theta;  ///< where
  Floats values;
};

/// Sums over all parameters.
struct LineNorms {
  double theta_theta = 0, theta_v = 0, v_v = 0;
  bool fits = true;  ///< every entry of theta is a finite float
  LineNorms& operator+=(const LineNorms& other);
};

/// What is known of a place and a direction before they are looked at.
struct Where {
  Support support;       ///< of the direction; no entries: it has to be looked at
  bool on_line = false;  ///< it differs from the line's start within the support alone
};

/// How many pieces there are, and how many rows one of them has.
inline std::size_t pieces(std::size_t rows, std::size_t piece) { return (rows + piece - 1) / piece; }

inline std::size_t rows_of(std::size_t number, std::size_t piece, std::size_t rows) {
  return std::min(piece, rows - number * piece);
}

class Engine {
 public:
  /// For jets of `inputs`. The options' piece 0: chosen by the sizes of network and data.
  Engine(std::shared_ptr<const Network> network, Inputs inputs, const PosteriorOptions& options,
         std::shared_ptr<ThreadPool> pool);

  const Plan& plan() const { return plan_; }
  /// Rows in a piece, of jets and predictions, and of gradients.
  std::size_t piece() const { return piece_; }
  std::size_t gradient_piece() const { return gradient_piece_; }
  ThreadPool& pool() { return *pool_; }

  /// What is called after place(); what that does not need is left out.
  enum class Next { forward, predict, gradient };
  /// Goes to theta, on a line along v (order 0: null). Entries after the network's parameters are ignored.
  LineNorms place(const VectorSource& theta, const VectorSource* v, Next next, const Where& where = {});
  /// The place of the last forward() is where a line starts, or goes on from.
  void start_line() { line_start_ = at_hand_; }

  /// The same on two lines, for forward_two.
  std::array<LineNorms, 2> place_two(const VectorSource& theta, const VectorSource& v, const VectorSource& w);

  /// Calls use(first row, rows, outputs) for each piece of the inputs, on any thread.
  using UseOutputs = std::function<void(std::size_t first, std::size_t rows, const Stack& outputs)>;
  void forward(std::size_t order, const UseOutputs& use);
  /// The same, order 0, for other inputs.
  void predict(const Inputs& inputs, const UseOutputs& use);
  /// The same as forward, on two lines: outputs are values, slopes along v, slopes along w.
  void forward_two(const UseOutputs& use);
  /// What that costs in jets of order 1. Narrow networks, and those that keep what lies below a layer, save
  /// more in other ways and do not do it: 2.
  double price_of_two() const { return narrow_ || kept_bytes_ > 0 ? 2.0 : 5.0 / 3; }

  /// Calls loss(first row, rows, outputs, derivatives by them) for each piece, on any thread, and adds up
  /// derivatives by the parameters in `out`.
  using Loss =
      std::function<void(std::size_t first, std::size_t rows, const float* outputs, float* by_outputs)>;
  void gradient(GradientForm form, const Loss& loss, std::span<double> out);

  const KeptReport& kept() const { return kept_report_; }

  std::size_t forward_bytes(std::size_t order) const;
  std::size_t gradient_bytes(GradientForm form) const;

 private:
  /// What one thread needs for gradients.
  struct BackwardMemory {
    explicit BackwardMemory(const Plan& plan) : adjoints(plan) {}
    Adjoints adjoints;
    std::unique_ptr<Tape> tape;  // not in the form that keeps all
    Floats gradient;
    Workbench bench;
  };
  /// Memory that threads take for an item and hand back.
  template <class Memory>
  struct MemoryPool {
    std::mutex mutex;
    std::vector<std::unique_ptr<Memory>> idle;
    std::unique_ptr<Memory> take(const Plan& plan);
    void give(std::unique_ptr<Memory> memory);
  };

  LineNorms take(const VectorSource& theta, const VectorSource* v, Floats& v_floats);
  void pack(std::size_t directions);
  Wanted wanted(std::size_t order) const;
  std::size_t known_floats() const;
  std::size_t mark_moving(const Where& where);
  void find_known(const Where& where);
  KnownValues* most_alike();
  void prepare(std::size_t rows, std::size_t order);
  void choose_kept(bool has_direction, const Where& where);
  void for_pieces(const Inputs& inputs, const Wanted& wanted, std::size_t start, std::size_t store,
                  const UseOutputs& use);
  Stack piece_forward(const Inputs& inputs, std::size_t first, std::size_t rows, const Wanted& wanted,
                      std::size_t start, std::size_t store, PieceMemory& memory);
  void for_narrow_pieces(const Inputs& inputs, std::size_t order, KnownValues* known, const UseOutputs& use);
  Stack kept_rows(std::size_t first);
  void tape_forward(std::size_t first, std::size_t rows, Tape& tape, BackwardMemory& memory);
  void tape_backward(std::size_t first, std::size_t rows, Tape& tape, BackwardMemory& memory,
                     const Loss& loss);

  std::shared_ptr<const Network> network_;
  Inputs inputs_;
  std::size_t kept_bytes_, known_bytes_, piece_, gradient_piece_;
  std::shared_ptr<ThreadPool> pool_;
  Plan plan_;
  std::optional<NarrowNetwork> narrow_;
  std::size_t parameters_;
  // These are made by the first evaluation that needs them.
  Floats theta_floats_, v_floats_, w_floats_;
  Weights theta_;
  std::optional<Weights> v_, w_;
  std::vector<char> moves_;           // for each unit whether its parameters move
  std::array<KnownValues, 2> known_;  // at two places
  KnownValues* at_hand_ = nullptr;    // of the next evaluation: known, or to be filled; null: not kept
  KnownValues* before_ = nullptr;     // the place whose first units have the same values as here
  std::size_t known_units_ = 0;       // how many units those are
  KnownValues* line_start_ = nullptr;
  std::size_t latest_ = 0;  // which of the two was used last
  KeptTensor kept_;
  bool kept_holds_ = false;  // on the present line
  KeptReport kept_report_;
  std::size_t start_ = 0;  // the tensor that the next evaluation starts from: 0, or the one that is kept
  std::size_t store_ = 0;  // the tensor that it is to keep, or 0
  std::optional<std::vector<PackedWeights>> backward_weights_;
  MemoryPool<PieceMemory> piece_memory_;
  MemoryPool<NarrowNetwork::Memory> narrow_memory_;
  MemoryPool<BackwardMemory> backward_memory_;
};

template <class Memory>
std::unique_ptr<Memory> Engine::MemoryPool<Memory>::take(const Plan& plan) {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      auto memory = std::move(idle.back());
      idle.pop_back();
      return memory;
    }
  }
  if constexpr (std::is_constructible_v<Memory, const Plan&>)
    return std::make_unique<Memory>(plan);
  else
    return std::make_unique<Memory>();
}

template <class Memory>
void Engine::MemoryPool<Memory>::give(std::unique_ptr<Memory> memory) {
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(memory));
}

}  // namespace onward::net
