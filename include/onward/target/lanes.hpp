#pragma once
// Several chains in one register: the same generic callable evaluated over SIMD batches whose lanes are
// chains. Each lane has the bits that its chain would have alone. For callables without branches on their
// values.

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/simd/batch.hpp"
#include "onward/target/direction.hpp"
#include "onward/target/jet.hpp"
#include "onward/target/line_view.hpp"

namespace onward {

/// What AnyTarget is for one chain: a lane whose jet is not finite has value -inf, slope and curvature 0.
template <class F>
class LaneTarget {
 public:
  using Real = simd::Batch<double>;

  LaneTarget(std::size_t dimension, F f) : dimension_(dimension), f_(std::move(f)) {}

  std::size_t dimension() const { return dimension_; }

  BasicJet<Real> jet(std::span<const Real> theta, std::span<const Real> v, Order order) {
    BasicJet<Real> jet{Real(0.0), Real(0.0), Real(0.0)};
    switch (order) {
      case Order::value: {
        jet.value = f_(LineView<Value<Real>>(theta, v, values_)).value;
        break;
      }
      case Order::slope: {
        const Dual<Real> f = f_(LineView<Dual<Real>>(theta, v, duals_));
        jet = {f.value, f.slope, Real(0.0)};
        break;
      }
      case Order::curvature: {
        const Jet2<Real> f = f_(LineView<Jet2<Real>>(theta, v, jets_));
        jet = {f.value, f.slope, f.curvature};
        break;
      }
    }
    const auto finite = simd::is_finite(jet.value) & simd::is_finite(jet.slope) &
                        simd::is_finite(jet.curvature) & all_finite(theta);
    return {simd::select(finite, jet.value, Real(-INFINITY)), simd::select(finite, jet.slope, Real(0.0)),
            simd::select(finite, jet.curvature, Real(0.0))};
  }

  /// As AnyTarget::Line; each lane has an alpha of its own, and commits or does not.
  class Line {
   public:
    BasicJet<Real> here(Order order) { return target_->jet(*position_, v_, order); }
    BasicJet<Real> jet(Real alpha, Order order) {
      std::vector<Real>& place = target_->place_;
      place.resize(v_.size());
      for (std::size_t i = 0; i < place.size(); ++i) place[i] = (*position_)[i] + alpha * v_[i];
      return target_->jet(place, v_, order);
    }
    /// alpha is that of the last jet.
    void commit(Real, simd::mask_t<Real> accepted) {
      for (std::size_t i = 0; i < position_->size(); ++i)
        (*position_)[i] = simd::select(accepted, target_->place_[i], (*position_)[i]);
    }

   private:
    friend class LaneTarget;
    Line(LaneTarget& target, std::vector<Real>& position, std::span<const Real> v)
        : target_(&target), position_(&position), v_(v) {}
    LaneTarget* target_;
    std::vector<Real>* position_;
    std::span<const Real> v_;
  };
  Line line(std::vector<Real>& position, const BasicDirection<Real>& v) {
    return {*this, position, v.held()};
  }

  /// By the tape, over batches.
  Real gradient(std::span<const Real> theta, std::span<Real> out) {
    tape_.start(theta);
    const Real value = ad::gradient_on(tape_, out, [&] { return f_(LineView<Reverse<Real>>(theta)); });
    const auto finite = simd::is_finite(value) & all_finite(theta) & all_finite(std::span<const Real>(out));
    for (Real& g : out) g = simd::select(finite, g, Real(0.0));
    return simd::select(finite, value, Real(-INFINITY));
  }

 private:
  static simd::mask_t<Real> all_finite(std::span<const Real> x) {
    Real zero(0.0);
    for (const Real& entry : x) zero += Real(0.0) * entry;
    return zero == Real(0.0);
  }

  std::size_t dimension_;
  F f_;
  std::vector<Real> place_;  // of a line
  std::vector<Value<Real>> values_;
  std::vector<Dual<Real>> duals_;
  std::vector<Jet2<Real>> jets_;
  Tape<Real> tape_;
};

}  // namespace onward
