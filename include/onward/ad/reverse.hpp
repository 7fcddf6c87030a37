#pragma once
// Reverse: whole gradients for the baseline sampler that needs them (MALA). Every operation is written on a
// tape; a sweep back over the tape collects the adjoints. The tape keeps its memory between evaluations, so a
// warm one does not allocate.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "onward/ad/arithmetic.hpp"
#include "onward/ad/chain.hpp"
#include "onward/ad/no_plain_number.hpp"

namespace onward {

/// A number whose history is on the tape: its value and the place of the node that made it (0: a constant).
template <class T>
struct Reverse {
  using Scalar = T;
  using Index = std::uint32_t;
  T value{};
  Index index = 0;

  constexpr Reverse() : value(0) {}
  template <ConstantFor<Reverse> C>
  constexpr Reverse(const C& c) : value(ad::constant<T>(c)) {}
  constexpr Reverse(const T& v, Index i) : value(v), index(i) {}

  ONWARD_NO_PLAIN_NUMBER

  Reverse operator-() const;
  Reverse& operator+=(const Reverse& b);
  Reverse& operator-=(const Reverse& b);
  Reverse& operator*=(const Reverse& b);
  Reverse& operator/=(const Reverse& b);

  // A shift by a constant has derivative 1: the node stays the same (arithmetic.hpp).
  template <ConstantFor<Reverse> C>
  Reverse& operator*=(const C& c);
  template <ConstantFor<Reverse> C>
  Reverse& operator/=(const C& c);

  friend std::ostream& operator<<(std::ostream& out, const Reverse& x) { return out << x.value; }
};

/// The record of one evaluation: for each operation up to two parents and the partial derivatives towards
/// them. Operations go to the tape that is active in their thread; see Tape::Active.
template <class T>
class Tape {
 public:
  using Index = typename Reverse<T>::Index;

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

  /// Forgets the operations and keeps the memory.
  void clear() { size_ = 1; }

  /// A new independent variable.
  Reverse<T> variable(const T& value) { return {value, push(0, T(0), 0, T(0))}; }

  /// Collects the adjoints df/dx of everything that f was made from.
  void sweep(const Reverse<T>& f) {
    adjoints_.assign(size_, T(0));
    adjoints_[f.index] = T(1);
    for (std::size_t i = f.index; i > 0; --i) {
      const Node& node = nodes_[i];
      const T& w = adjoints_[i];
      // What f does not depend on contributes nothing, also where a partial derivative is infinite.
      if (simd::all(w == T(0))) continue;
      if (node.a != 0) adjoints_[node.a] += ad::times<void>(node.da, w);
      if (node.b != 0) adjoints_[node.b] += ad::times<void>(node.db, w);
    }
  }

  /// df/dx after sweep(f).
  T adjoint(const Reverse<T>& x) const { return x.index == 0 ? T(0) : adjoints_[x.index]; }

  /// Adds an operation to the active tape; one made of constants alone is a constant.
  static Reverse<T> record(const T& value, const Reverse<T>& a, const T& da) {
    return {value, a.index == 0 ? 0 : active_->push(a.index, da, 0, T(0))};
  }
  static Reverse<T> record(const T& value, const Reverse<T>& a, const T& da, const Reverse<T>& b,
                           const T& db) {
    return {value, (a.index | b.index) == 0 ? 0 : active_->push(a.index, da, b.index, db)};
  }

  /// Room for the independent variables of gradient().
  std::vector<Reverse<T>>& variables() { return variables_; }

 private:
  struct Node {
    Index a = 0, b = 0;  // parents; 0 is a place that nobody reads
    T da{}, db{};
  };

  Index push(Index a, const T& da, Index b, const T& db) {
    if (size_ == nodes_.size()) nodes_.resize(2 * size_);
    nodes_[size_] = {a, b, da, db};
    return static_cast<Index>(size_++);
  }

  inline static constinit thread_local Tape* active_ = nullptr;
  std::vector<Node> nodes_ = std::vector<Node>(1024);
  std::size_t size_ = 1;
  std::vector<T> adjoints_;
  std::vector<Reverse<T>> variables_;
};

template <class T>
Reverse<T> Reverse<T>::operator-() const {
  return Tape<T>::record(simd::neg(value), *this, T(-1));
}
template <class T>
Reverse<T>& Reverse<T>::operator+=(const Reverse& b) {
  return *this = Tape<T>::record(value + b.value, *this, T(1), b, T(1));
}
template <class T>
Reverse<T>& Reverse<T>::operator-=(const Reverse& b) {
  return *this = Tape<T>::record(value - b.value, *this, T(1), b, T(-1));
}
template <class T>
Reverse<T>& Reverse<T>::operator*=(const Reverse& b) {
  return *this = Tape<T>::record(value * b.value, *this, b.value, b, value);
}
template <class T>
Reverse<T>& Reverse<T>::operator/=(const Reverse& b) {
  const T f = value / b.value, r = T(1) / b.value;
  return *this = Tape<T>::record(f, *this, r, b, simd::neg(T(f * r)));
}
template <class T>
template <ConstantFor<Reverse<T>> C>
Reverse<T>& Reverse<T>::operator*=(const C& c) {
  const T k = ad::constant<T>(c);
  return *this = Tape<T>::record(value * k, *this, k);
}
template <class T>
template <ConstantFor<Reverse<T>> C>
Reverse<T>& Reverse<T>::operator/=(const C& c) {
  const T k = ad::constant<T>(c);
  return *this = Tape<T>::record(value / k, *this, T(1) / k);
}

template <class T>
Reverse<T> divide(const T& c, const Reverse<T>& a) {
  const T f = c / a.value, r = T(1) / a.value;
  return Tape<T>::record(f, a, simd::neg(T(f * r)));
}
/// A single number gets a node of its own too, so that adjoints are added in the order that a batch adds
/// them.
template <class T>
Reverse<T> select(const simd::mask_t<T>& mask, const Reverse<T>& a, const Reverse<T>& b) {
  if constexpr (simd::is_batch_v<T>) {
    return Tape<T>::record(simd::select(mask, a.value, b.value), a, simd::select(mask, T(1), T(0)), b,
                           simd::select(mask, T(0), T(1)));
  } else {
    const Reverse<T>& chosen = mask ? a : b;
    return Tape<T>::record(chosen.value, chosen, T(1));
  }
}

namespace ad {

template <class Rule, class T>
Reverse<T> chain(const Rule& rule, const Reverse<T>& x) {
  const Unary<T> f = rule.template at<1>(x.value);
  return Tape<T>::record(f.value, x, f.first);
}
template <class Rule, class T>
Reverse<T> chain(const Rule& rule, const Reverse<T>& a, const Reverse<T>& b) {
  const Binary<T> f = rule.template at<1>(a.value, b.value);
  return Tape<T>::record(f.value, a, f.a, b, f.b);
}

}  // namespace ad

/// The gradient of f at theta by reverse mode, into out; returns the value. f takes a std::span<const
/// Reverse<T>>.
template <class T, class F>
T gradient(F&& f, std::span<const T> theta, std::span<T> out, Tape<T>& tape) {
  const typename Tape<T>::Active active(tape);
  tape.clear();
  auto& x = tape.variables();
  x.clear();
  for (const T& t : theta) x.push_back(tape.variable(t));
  const Reverse<T> y = f(std::span<const Reverse<T>>(x));
  tape.sweep(y);
  for (std::size_t i = 0; i < theta.size(); ++i) out[i] = tape.adjoint(x[i]);
  return y.value;
}

/// The same with a tape that belongs to the thread.
template <class F>
double gradient(F&& f, std::span<const double> theta, std::span<double> out) {
  static thread_local Tape<double> tape;
  return gradient(f, theta, out, tape);
}

}  // namespace onward
