#pragma once
// A direction, and what is known of its shape. Most are dense; those of a block of parameters, or of one
// parameter, are zero elsewhere, and a model may use that: a regression multiplies a few columns in place of
// all, a network starts at the layer that moves. Nobody has to look for the zeros.

#include <cstddef>
#include <span>

#include "onward/target/vector_source.hpp"

namespace onward {

/// Where a direction has its entries: all others are zero. No entries at all: nothing is known of it.
struct Support {
  std::size_t first = 0, count = 0;
  bool operator==(const Support&) const = default;
};

enum class Shape { dense, block, axis };

/// A view of a direction, which must outlive it. Real is double, or a SIMD batch whose lanes are chains.
template <class Real>
class BasicDirection {
 public:
  /// In memory, zeros included.
  BasicDirection(std::span<const Real> v, Support support = {})
      : held_(v), support_(support.count > 0 ? support : Support{0, v.size()}), size_(v.size()) {}
  /// Not in memory: it is read a stretch at a time.
  BasicDirection(const VectorSource& source, std::size_t size)
      : source_(&source), support_{0, size}, size_(size) {}

  std::size_t size() const { return size_; }
  Support support() const { return support_; }
  Shape shape() const {
    return support_.count == size_ ? Shape::dense : support_.count == 1 ? Shape::axis : Shape::block;
  }
  /// All entries, if they are in memory; else none.
  std::span<const Real> held() const { return held_; }
  /// Where they are read from, if they are not in memory; else null.
  const VectorSource* source() const { return source_; }

 private:
  std::span<const Real> held_;
  const VectorSource* source_ = nullptr;
  Support support_;
  std::size_t size_;
};
using Direction = BasicDirection<double>;

/// Either kind of a direction as a source.
class DirectionSource final : public VectorSource {
 public:
  explicit DirectionSource(const Direction& v) : v_(v) {}
  VectorView read(std::size_t first, std::span<double> scratch) const override {
    return v_.source() ? v_.source()->read(first, scratch) : v_.held().subspan(first, scratch.size());
  }

 private:
  Direction v_;
};

/// theta + alpha v, computed where it is read.
class PlaceOnLine final : public VectorSource {
 public:
  PlaceOnLine(VectorView theta, double alpha, const Direction& v) : theta_(theta), alpha_(alpha), v_(v) {}
  VectorView read(std::size_t first, std::span<double> scratch) const override {
    const VectorView start = theta_.subspan(first, scratch.size());
    if (alpha_ == 0) return start;
    const VectorView v = v_.read(first, scratch);
    for (std::size_t i = 0; i < scratch.size(); ++i) scratch[i] = start[i] + alpha_ * v[i];
    return scratch;
  }

 private:
  VectorView theta_;
  double alpha_;
  DirectionSource v_;
};

}  // namespace onward
