#pragma once
// The scalars of this folder as entries of Eigen matrices, alone and mixed with plain matrices.

#include <Eigen/Core>

#include "onward/ad/functions.hpp"
#include "onward/ad/limits.hpp"

namespace Eigen {

/// Costs count the derivatives that come along; they only steer how Eigen unrolls.
template <onward::AdScalar X>
struct NumTraits<X> : NumTraits<onward::simd::scalar_t<onward::scalar_t<X>>> {
  using Real = X;
  using NonInteger = X;
  using Nested = X;
  using Literal = onward::simd::scalar_t<onward::scalar_t<X>>;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 3,
    AddCost = 3,
    MulCost = 8
  };
  static X epsilon() { return NumTraits<Literal>::epsilon(); }
  static X dummy_precision() { return NumTraits<Literal>::dummy_precision(); }
  static X highest() { return NumTraits<Literal>::highest(); }
  static X lowest() { return NumTraits<Literal>::lowest(); }
  static X infinity() { return NumTraits<Literal>::infinity(); }
  static X quiet_NaN() { return NumTraits<Literal>::quiet_NaN(); }
};

template <onward::AdScalar X, class Op>
struct ScalarBinaryOpTraits<X, onward::scalar_t<X>, Op> {
  using ReturnType = X;
};
template <onward::AdScalar X, class Op>
struct ScalarBinaryOpTraits<onward::scalar_t<X>, X, Op> {
  using ReturnType = X;
};

// Over batches a plain matrix may also hold one number an entry, the same for all lanes.
template <onward::AdScalar X, class Op>
requires onward::simd::is_batch_v<onward::scalar_t<X>>
struct ScalarBinaryOpTraits<X, onward::simd::scalar_t<onward::scalar_t<X>>, Op> {
  using ReturnType = X;
};
template <onward::AdScalar X, class Op>
requires onward::simd::is_batch_v<onward::scalar_t<X>>
struct ScalarBinaryOpTraits<onward::simd::scalar_t<onward::scalar_t<X>>, X, Op> {
  using ReturnType = X;
};

}  // namespace Eigen
