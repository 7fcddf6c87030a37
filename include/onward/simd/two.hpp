#pragma once
// Two numbers side by side: tangents along two lines through one place. Arithmetic has the bits of the
// numbers one by one. It fills a small register: in a full one, with lanes to spare, a pass costs half as
// much again.

#include <ostream>

#include "onward/simd/batch.hpp"

namespace onward::simd {

class Two {
 public:
  using Register = double __attribute__((vector_size(16)));
  using Mask = long long __attribute__((vector_size(16)));

  Two() : both_{0, 0} {}
  explicit Two(double x) : both_{x, x} {}
  Two(double first, double second) : both_{first, second} {}
  explicit Two(Register both) : both_(both) {}

  double first() const { return both_[0]; }
  double second() const { return both_[1]; }

  friend Two operator+(Two x, Two y) { return Two(x.both_ + y.both_); }
  friend Two operator-(Two x, Two y) { return Two(x.both_ - y.both_); }
  friend Two operator*(Two x, Two y) { return Two(x.both_ * y.both_); }
  friend Two operator*(double x, Two y) { return Two(x) * y; }
  friend Two operator*(Two x, double y) { return x * Two(y); }
  friend Mask operator==(Two x, Two y) { return x.both_ == y.both_; }
  friend Two neg(Two x) { return Two(-x.both_); }
  friend Two mul_add(Two x, Two y, Two z) {
#if defined(__FMA__)
    return Two(Register(_mm_fmadd_pd(x.both_, y.both_, z.both_)));
#else
    return x * y + z;
#endif
  }
  friend Two select(Mask mask, Two x, Two y) { return Two(mask ? x.both_ : y.both_); }
  friend std::ostream& operator<<(std::ostream& out, Two x) {
    return out << '(' << x.first() << ", " << x.second() << ')';
  }

 private:
  Register both_;
};

// Found by qualified names too, as those of plain numbers and batches are.
Two neg(Two x);
Two mul_add(Two x, Two y, Two z);
Two select(Two::Mask mask, Two x, Two y);

}  // namespace onward::simd
