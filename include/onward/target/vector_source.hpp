#pragma once
// A vector that need not be in memory. Directions and noise are functions of a stream, and a place on a line
// is a function of a position and a direction: who wants their entries can have any stretch of them.

#include <cstddef>
#include <span>

#include "onward/target/jet.hpp"

namespace onward {

class VectorSource {
 public:
  VectorSource() = default;
  VectorSource(const VectorSource&) = default;
  VectorSource& operator=(const VectorSource&) = default;
  virtual ~VectorSource() = default;
  /// Entries `first`, `first` + 1, ..., as many as `scratch` has room for: in there, or where they lie
  /// anyway. `first` is a multiple of 8. Threads may read at the same time.
  virtual VectorView read(std::size_t first, std::span<double> scratch) const = 0;
};

/// One that is in memory, and stays there.
class HeldVector final : public VectorSource {
 public:
  explicit HeldVector(VectorView values) : values_(values) {}
  VectorView read(std::size_t first, std::span<double> scratch) const override {
    return values_.subspan(first, scratch.size());
  }

 private:
  VectorView values_;
};

}  // namespace onward
