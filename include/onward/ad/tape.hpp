#pragma once
// The record of one evaluation, for gradients by reverse mode: a node for each number that depends on two or
// more others, with its parents and the partial derivatives towards them. A sweep back over the nodes
// collects the adjoints. The tape keeps its memory between evaluations, so a warm one does not allocate.

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "onward/ad/concepts.hpp"

namespace onward {

namespace ad {

/// a * b, but 0 where one of them is 0 and the other not a number or infinite: what does not depend on
/// something, or does not matter, contributes nothing, also at the edge of a function's domain.
template <class T>
ONWARD_ALWAYS_INLINE inline T product(const T& a, const T& b) {
  const T p = a * b;
  if constexpr (simd::is_batch_v<T>) {
    const auto bad = simd::is_nan(p);
    if (!simd::any(bad)) return p;
    return simd::select(bad && ((a == T(0)) || (b == T(0))), T(0), p);
  } else {
    if (p == p) [[likely]]
      return p;
    return a == T(0) || b == T(0) ? T(0) : p;
  }
}

}  // namespace ad

/// Nodes are numbered from 1; number 0 stands for constants. The independent variables come first and need no
/// node; a number that depends on one other number alone needs none either (see Reverse). Operations go to
/// the tape that is active in their thread.
template <class T>
class Tape {
 public:
  using Index = std::uint32_t;

  /// Makes a tape the active one of this thread for as long as this object lives.
  class Active {
   public:
    explicit Active(Tape& tape) : previous_(std::exchange(active_, &tape)) {}
    ~Active() { active_ = previous_; }
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;

   private:
    Tape* previous_;
  };
  static Tape& active() { return *active_; }

  Tape() = default;
  /// A copy has memory of its own, and nothing on record.
  Tape(const Tape&) : Tape() {}
  Tape& operator=(const Tape&) { return *this; }
  ~Tape() = default;

  /// Forgets everything and keeps the memory.
  void clear() {
    forget_adjoints();
    size_ = variables_end_ = 1;
    runs_size_ = weights_size_ = parents_size_ = read_ = 0;
    theta_ = {};
    array_is_made_ = false;
  }
  /// The same, and then there is an independent variable for each entry of theta: number i + 1 for entry i.
  void start(std::span<const T> theta) {
    clear();
    theta_ = theta;
    variables_end_ = size_ = theta.size() + 1;
    if (size_ > capacity_) grow();
  }

  /// A new independent variable; they come before all operations.
  Reverse<T> variable(const T& value) {
    assert(size_ == variables_end_);
    if (size_ == capacity_) grow();
    ++variables_end_;
    return {value, T(1), static_cast<Index>(size_++)};
  }

  /// Entry i of start().
  Reverse<T> entry(std::size_t i) const { return {theta_[i], T(1), static_cast<Index>(i + 1)}; }
  /// All of them, in an array that is made when it is asked for.
  std::span<const Reverse<T>> entries() {
    if (!array_is_made_) {
      array_.resize(theta_.size());
      for (std::size_t i = 0; i < theta_.size(); ++i) array_[i] = entry(i);
      array_is_made_ = true;
    }
    return array_;
  }
  std::span<const T> theta() const { return theta_; }
  /// Where in theta an array of numbers begins; theta.size() or more if it is not a part of entries().
  std::size_t place_of(const Reverse<T>* array) const {
    const std::less<> before;
    if (!array_is_made_ || before(array, array_.data()) || !before(array, array_.data() + array_.size()))
      return theta_.size();
    return static_cast<std::size_t>(array - array_.data());
  }

  /// A node with two parents.
  ONWARD_ALWAYS_INLINE Index push(Index a, const T& da, Index b, const T& db) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    nodes_[size_] = {da, db, a, b};
    return static_cast<Index>(size_++);
  }
  /// The same for a sum. Long sums are chains of such nodes: the sweep hands the adjoint from one to the next
  /// without a way through memory.
  ONWARD_ALWAYS_INLINE Index push_sum(Index a, const T& da, Index b, const T& db) {
    return push(a | sum_bit, da, b, db);
  }

  /// A node with any number of parents is made in steps: begin() it, add runs of parents and fill their
  /// weights, the partial derivatives, before the next run is added, and end() it.
  void begin() { fused_begin_ = runs_size_; }
  /// Parents first, first + 1, ...
  std::span<T> add_run(Index first, std::size_t count) {
    const std::size_t at = room(weights_, weights_size_, count);
    room(runs_, runs_size_, 1);
    runs_[runs_size_ - 1] = {at, 0, static_cast<Index>(count), first, true};
    return {weights_.data() + at, count};
  }
  /// Parents anywhere, numbers to be filled as well.
  struct List {
    std::span<T> weights;
    std::span<Index> parents;
  };
  List add_list(std::size_t count) {
    const std::size_t at = room(weights_, weights_size_, count);
    const std::size_t parents_at = room(parents_, parents_size_, count);
    room(runs_, runs_size_, 1);
    runs_[runs_size_ - 1] = {at, parents_at, static_cast<Index>(count), 0, false};
    return {{weights_.data() + at, count}, {parents_.data() + parents_at, count}};
  }
  Reverse<T> end(const T& value) {
    if (runs_size_ == fused_begin_) return {value, T(0), 0};
    const auto runs = static_cast<Index>(runs_size_ - fused_begin_);
    // The number of runs stands where the parent of other nodes does; where they are is known from the end.
    return {value, T(1), push(runs, T(0), fused, T(0))};
  }

  /// Memory for functions of vectors, by number: what is in it stays until it is asked for again.
  std::span<T> scratch(std::size_t number, std::size_t size) {
    std::vector<T>& memory = scratch_[number];
    if (memory.size() < size) memory.resize(size);
    return {memory.data(), size};
  }

  /// Collects the adjoints df/dx of everything that f was made from.
  void sweep(const Reverse<T>& f) {
    sweep_from<false>(f);
    // 0 times infinity is looked out for only if there was one.
    if (any_nan(adjoints())) sweep_from<true>(f);
  }

  /// df/dx of an independent variable, after sweep(f).
  T adjoint(const Reverse<T>& x) const { return x.index == 0 ? T(0) : adjoints_[x.index]; }
  std::span<const T> adjoints() const { return {adjoints_.data() + 1, variables_end_ - 1}; }

  /// What is on record: nodes, and the numbers that functions of vectors have gone through to make theirs, as
  /// they say by read().
  struct Counts {
    std::size_t nodes, read;
  };
  Counts counts() const { return {size_ - variables_end_, read_}; }
  void read(std::size_t numbers) { read_ += numbers; }

 private:
  struct Node {
    T da{}, db{};
    Index a = 0, b = 0;
  };
  struct Run {
    std::size_t weights = 0, parents = 0;
    Index count = 0, first = 0;
    bool consecutive = true;
  };
  static constexpr Index sum_bit = Index{1} << 31, fused = ~Index{0};

  [[gnu::noinline, gnu::cold]] void grow() {
    if (size_ >= sum_bit / 2)
      throw std::length_error("the tape of a gradient is full after a billion operations in one evaluation");
    capacity_ = std::max<std::size_t>(2 * size_, 1024);
    nodes_.resize(capacity_);
  }
  /// Makes room for `count` more and returns where they begin.
  template <class X>
  static std::size_t room(std::vector<X>& numbers, std::size_t& size, std::size_t count) {
    if (numbers.size() < size + count) numbers.resize(std::max<std::size_t>(2 * (size + count), 64));
    return std::exchange(size, size + count);
  }

  static bool any_nan(std::span<const T> numbers) {
    if constexpr (simd::is_batch_v<T>) {
      auto bad = simd::is_nan(T(0));
      for (const T& x : numbers) bad = bad || simd::is_nan(x);
      return simd::any(bad);
    } else {
      std::uint64_t count = 0;
      for (const T& x : numbers) count += x == x ? 0 : 1;
      return count != 0;
    }
  }

  /// Rounds once either way: a lane for which no care is needed has the bits that it has alone.
  template <bool careful>
  ONWARD_ALWAYS_INLINE static void add(T& to, const T& w, const T& derivative) {
    const T sum = simd::mul_add(w, derivative, to);
    if constexpr (careful)
      to = simd::select(simd::is_nan(sum) && ((w == T(0)) || (derivative == T(0))), to, sum);
    else
      to = sum;
  }

  /// Adjoints are 0 between evaluations: numbers that were stored just before they are read in wider loads
  /// would hold the processor up.
  void forget_adjoints() {
    std::fill_n(adjoints_.begin(), static_cast<std::ptrdiff_t>(used_adjoints_), T(0));
    used_adjoints_ = 0;
  }

  template <bool careful>
  [[gnu::noinline]] void sweep_from(const Reverse<T>& f) {
    forget_adjoints();
    if (adjoints_.size() < size_) adjoints_.resize(std::max(size_, 2 * adjoints_.size()), T(0));
    used_adjoints_ = size_;
    T* const adjoints = adjoints_.data();
    adjoints[f.index] += f.scale;
    std::size_t runs = runs_size_;  // those of nodes that were passed are behind
    Index carried = 0;              // the node whose adjoint has carry times carry_scale to be added
    T carry(0), carry_scale(0);
    for (std::size_t i = size_ - 1; i >= variables_end_; --i) {
      const Node& node = nodes_[i];
      if (node.b == fused) [[unlikely]] {
        runs -= node.a;
        const T w = i == carried ? take<careful>(adjoints[i], carry, carry_scale, carried) : adjoints[i];
        if (!simd::all(w == T(0))) sweep_runs<careful>(w, runs, runs + node.a);
        continue;
      }
      const T w = i == carried ? take<careful>(adjoints[i], carry, carry_scale, carried) : adjoints[i];
      if (simd::all(w == T(0))) continue;
      const Index a = node.a & ~sum_bit;
      // Variables are reached at the very end: they would keep the register from others.
      if (a != node.a && carried == 0 && a >= variables_end_) {
        carried = a;
        carry = w;
        carry_scale = node.da;
      } else {
        add<careful>(adjoints[a], w, node.da);
      }
      add<careful>(adjoints[node.b], w, node.db);
    }
  }

  template <bool careful>
  ONWARD_ALWAYS_INLINE static T take(T adjoint, const T& carry, const T& carry_scale, Index& carried) {
    carried = 0;
    add<careful>(adjoint, carry, carry_scale);
    return adjoint;
  }

  template <bool careful>
  void sweep_runs(const T& w, std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const Run& run = runs_[r];
      const T* __restrict weights = weights_.data() + run.weights;
      if (run.consecutive) {
        T* __restrict to = adjoints_.data() + run.first;
        for (std::size_t k = 0; k < run.count; ++k) add<careful>(to[k], w, weights[k]);
      } else {
        const Index* parents = parents_.data() + run.parents;
        for (std::size_t k = 0; k < run.count; ++k) add<careful>(adjoints_[parents[k]], w, weights[k]);
      }
    }
  }

  // Reached at each operation: not through the call that a shared library would make of it.
  inline static constinit thread_local Tape* active_ = nullptr;
  std::vector<Node> nodes_;
  std::size_t size_ = 1, variables_end_ = 1;
  std::size_t capacity_ = 1;  // of nodes_; 1 while there is no memory, since number 0 needs none
  std::vector<Run> runs_;
  std::vector<T> weights_;
  std::vector<Index> parents_;
  std::size_t runs_size_ = 0, weights_size_ = 0, parents_size_ = 0, fused_begin_ = 0, read_ = 0;
  std::vector<T> adjoints_;
  std::size_t used_adjoints_ = 0;
  std::array<std::vector<T>, 9> scratch_;
  std::span<const T> theta_;
  std::vector<Reverse<T>> array_;
  bool array_is_made_ = false;
};

}  // namespace onward
