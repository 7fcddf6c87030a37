#pragma once
// The parameters on a line as forward-mode scalars, made when they are asked for. It reads like a span, but
// holds no copies: filling an array just before a model reads it in wider loads would stall the processor
// (measured: 2.5 times the price of a jet of the funnel with 100 x's).

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "onward/ad/ad.hpp"

namespace onward {

/// The scalar type of what a callable receives: `using T = onward::scalar_of<decltype(t)>;`
template <class View>
using scalar_of = std::remove_cvref_t<decltype(std::declval<View>()[0])>;

/// Tangents along two lines through one place, carried by one pass.
using TwoTangents = simd::Two;

/// Tangents along as many axes as a register has lanes: a stretch of the gradient from one pass.
using AxisTangents = simd::Batch<double>;

/// The tangents of entry i of a vector along the axes first, first + 1, ...: a 1 in lane i - first, if there
/// is such a lane. They are read from a table at an offset, so that nothing is written before it is read.
inline AxisTangents axis_tangents(std::size_t i, std::size_t first) {
  constexpr std::size_t lanes = simd::lanes_v<AxisTangents>;
  alignas(64) static constexpr auto table = [] {
    std::array<double, 2 * lanes> numbers{};
    numbers[lanes] = 1;
    return numbers;
  }();
  const std::size_t lane = i - first;  // wraps around below first
  return AxisTangents::load_unaligned(table.data() + (lanes - (lane < lanes ? lane : lanes)));
}

/// T is Value<Real>, Dual<Real> or Jet2<Real> with Real = double, or a SIMD batch whose lanes are chains;
/// Dual<double, TwoTangents> or Jet2<double, TwoTangents>, for two directions v and w at once;
/// Dual<double, AxisTangents>, for as many axes; or Reverse<Real>, for the variables of the active tape.
/// Elements come by value: t[i], range-for, begin() and end(). data() fills scratch memory at its first use,
/// for models that need an array (an Eigen::Map, say).
template <class T>
class LineView {
 public:
  using value_type = T;
  using Real = typename T::Scalar;
  using Scratch = std::vector<T>;

  LineView(std::span<const Real> theta, std::span<const Real> v, Scratch& scratch)
      : theta_(theta.data()), v_(v.data()), whole_(theta.size()), size_(whole_), scratch_(&scratch) {}
  LineView(std::span<const Real> theta, std::span<const Real> v, std::span<const Real> w, Scratch& scratch)
      : theta_(theta.data()),
        v_(v.data()),
        w_(w.data()),
        whole_(theta.size()),
        size_(whole_),
        scratch_(&scratch) {}
  /// Along the axes first, first + 1, ...
  LineView(std::span<const Real> theta, std::size_t first, Scratch& scratch)
      : theta_(theta.data()), first_(first), whole_(theta.size()), size_(whole_), scratch_(&scratch) {}
  /// The variables of the active tape.
  explicit LineView(std::span<const Real> theta)
      : theta_(theta.data()), whole_(theta.size()), size_(whole_) {}

  T operator[](std::size_t i) const { return at(offset_ + i); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T front() const { return at(offset_); }
  T back() const { return at(offset_ + size_ - 1); }

  /// `count` entries from entry `offset` on; all that there are without a count.
  LineView subspan(std::size_t offset, std::size_t count = std::dynamic_extent) const {
    LineView part = *this;
    part.offset_ += offset;
    part.size_ = count == std::dynamic_extent ? size_ - offset : count;
    return part;
  }
  LineView first(std::size_t count) const { return subspan(0, count); }
  LineView last(std::size_t count) const { return subspan(size_ - count, count); }

  const T* data() const {
    if constexpr (std::is_same_v<T, Reverse<Real>>) {
      return Tape<Real>::active().entries().data() + offset_;
    } else {
      scratch_->resize(whole_);
      for (std::size_t i = 0; i < whole_; ++i) (*scratch_)[i] = at(i);
      return scratch_->data() + offset_;
    }
  }
  operator std::span<const T>() const { return {data(), size_}; }  // NOLINT: it is a span, only lazier

  /// As many entries as a register has lanes, side by side.
  auto wide(std::size_t i) const
      requires(std::is_same_v<T, Value<double>> || std::is_same_v<T, Dual<double>> ||
               std::is_same_v<T, Jet2<double>>) {
    using B = simd::Batch<double>;
    const B value = B::load_unaligned(theta_ + offset_ + i);
    if constexpr (std::is_same_v<T, Value<double>>)
      return Value<B>(value);
    else if constexpr (std::is_same_v<T, Dual<double>>)
      return Dual<B>(value, B::load_unaligned(v_ + offset_ + i));
    else
      return Jet2<B>(value, B::load_unaligned(v_ + offset_ + i), B(0.0));
  }

  /// The tangents of a sum whose derivative towards entry i is w(i): the entries along the axes get theirs.
  template <class W>
  AxisTangents spread(const W& w) const requires std::is_same_v<T, Dual<double, AxisTangents>> {
    alignas(AxisTangents) std::array<double, simd::lanes_v<AxisTangents>> tangents;
    for (std::size_t k = 0; k < tangents.size(); ++k) {
      const std::size_t i = first_ + k - offset_;  // wraps around before the first entry
      tangents[k] = i < size_ ? w(i) : 0.0;
    }
    return AxisTangents::load_aligned(tangents.data());
  }

  /// The same with w(i) the value of entry i.
  AxisTangents spread_values() const requires std::is_same_v<T, Dual<double, AxisTangents>> {
    constexpr std::size_t lanes = simd::lanes_v<AxisTangents>;
    static constexpr auto numbers = [] {
      std::array<double, lanes> n{};
      for (std::size_t k = 0; k < lanes; ++k) n[k] = static_cast<double>(k);
      return n;
    }();
    const AxisTangents x =
        simd::load_partial(theta_ + first_, whole_ - first_ < lanes ? whole_ - first_ : lanes);
    const AxisTangents entry = AxisTangents::load_unaligned(numbers.data()) +
                               (static_cast<double>(first_) - static_cast<double>(offset_));
    const auto inside = (entry >= AxisTangents(0.0)) && (entry < AxisTangents(static_cast<double>(size_)));
    return simd::select(inside, x, AxisTangents(0.0));
  }

  /// The values alone.
  std::span<const Real> values() const { return {theta_ + offset_, size_}; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = T;
    Iterator(const LineView* view, std::size_t index) : view_(view), index_(index) {}
    T operator*() const { return (*view_)[index_]; }
    Iterator& operator++() { return ++index_, *this; }
    Iterator operator++(int) { return {view_, index_++}; }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const LineView* view_;
    std::size_t index_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  T at(std::size_t i) const {
    if constexpr (std::is_same_v<T, Value<Real>>)
      return T(theta_[i]);
    else if constexpr (std::is_same_v<T, Dual<Real>>)
      return T(theta_[i], v_[i]);
    else if constexpr (std::is_same_v<T, Reverse<Real>>)
      return T(theta_[i], Real(1.0), static_cast<typename T::Index>(i + 1));
    else if constexpr (std::is_same_v<T, Dual<double, AxisTangents>>)
      return T(theta_[i], axis_tangents(i, first_));
    else if constexpr (std::is_same_v<T, Dual<double, TwoTangents>>)
      return T(theta_[i], TwoTangents(v_[i], w_[i]));
    else if constexpr (std::is_same_v<T, Jet2<double, TwoTangents>>)
      return T(theta_[i], TwoTangents(v_[i], w_[i]), TwoTangents(0.0));
    else
      return T(theta_[i], v_[i], Real(0.0));
  }

  const Real* theta_;
  const Real* v_ = nullptr;
  const Real* w_ = nullptr;
  std::size_t first_ = 0;  // axis
  std::size_t offset_ = 0, whole_, size_;
  Scratch* scratch_ = nullptr;
};

}  // namespace onward
