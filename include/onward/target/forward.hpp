#pragma once
// A forward map: a simulator as a function from its inputs to what would be observed, perhaps with its
// derivative along a direction. observed() makes a target of one.
//
//     struct Spring {
//       std::size_t inputs() const { return 2; }
//       std::size_t outputs() const { return 60; }
//       void apply(onward::VectorView x, std::span<double> out);
//       void apply_jacobian(onward::VectorView x, onward::VectorView v, std::span<double> out,
//                           std::span<double> tangent);  // also J v, for whoever has a tangent-linear code
//     };

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/error.hpp"
#include "onward/target/jet.hpp"

namespace onward {

/// The least that a simulator offers. It may also offer
/// - `apply_jacobian(x, v, out, tangent)`: the outputs at x, and their derivative J v along v beside them;
/// - `apply_jacobian(x, v, tangent)`: J v alone, where the outputs cost a run of their own;
/// - `apply_transposed(x, s, out)`: Jᵀ s, from which samplers that need a gradient get one.
///
/// All throw std::domain_error for inputs that cannot be simulated. A map is copied once for each chain, so
/// that it may keep scratch memory. Equal inputs must give equal outputs.
template <class F>
concept ForwardMap = std::copy_constructible<F> && requires(F& f, VectorView x, std::span<double> out) {
  { f.inputs() } -> std::convertible_to<std::size_t>;
  { f.outputs() } -> std::convertible_to<std::size_t>;
  f.apply(x, out);
};
template <class F>
concept HasApplyJacobian = requires(F& f, VectorView x, VectorView v, std::span<double> out) {
  f.apply_jacobian(x, v, out, out);
};
template <class F>
concept HasJacobianAlone = requires(F& f, VectorView x, VectorView v, std::span<double> tangent) {
  f.apply_jacobian(x, v, tangent);
};
template <class F>
concept HasApplyTransposed = requires(F& f, VectorView x, VectorView s, std::span<double> out) {
  f.apply_transposed(x, s, out);
};

/// A forward map from one generic callable, f(std::span<const T> in, std::span<T> out). It is called with our
/// scalars: values, values with a slope, and values with a register full of slopes.
template <class F>
class CallableForward {
 public:
  CallableForward(std::size_t inputs, std::size_t outputs, F f)
      : inputs_(inputs), outputs_(outputs), f_(std::move(f)) {
    if (inputs == 0) throw UsageError("a forward map needs at least 1 of `inputs`; it was given 0");
    if (outputs == 0) throw UsageError("a forward map needs at least 1 of `outputs`; it was given 0");
  }

  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }

  void apply(VectorView x, std::span<double> out) {
    run(values_, [&](std::size_t i) { return Value<double>(x[i]); });
    for (std::size_t j = 0; j < outputs_; ++j) out[j] = values_.out[j].value;
  }

  void apply_jacobian(VectorView x, VectorView v, std::span<double> out, std::span<double> tangent) {
    run(duals_, [&](std::size_t i) { return Dual<double>(x[i], v[i]); });
    for (std::size_t j = 0; j < outputs_; ++j) {
      out[j] = duals_.out[j].value;
      tangent[j] = duals_.out[j].slope;
    }
  }

  /// Forward mode too, with a register full of tangents a run: nothing of a run is stored.
  void apply_transposed(VectorView x, VectorView s, std::span<double> out) {
    constexpr std::size_t lanes = simd::lanes_v<Tangents>;
    for (std::size_t begin = 0; begin < inputs_; begin += lanes) {
      run(chunks_, [&](std::size_t i) {
        alignas(Tangents) double unit[lanes] = {};
        if (i >= begin && i < begin + lanes) unit[i - begin] = 1;
        return Dual<double, Tangents>(x[i], Tangents::load_aligned(unit));
      });
      Tangents sum(0.0);
      for (std::size_t j = 0; j < outputs_; ++j) sum += Tangents(s[j]) * chunks_.out[j].slope;
      for (std::size_t i = begin; i < inputs_ && i < begin + lanes; ++i) out[i] = simd::lane(sum, i - begin);
    }
  }

 private:
  using Tangents = simd::Batch<double>;
  template <class T>
  struct Numbers {
    std::vector<T> in, out;
  };

  template <class T, class Input>
  void run(Numbers<T>& numbers, const Input& input) {
    numbers.in.resize(inputs_);
    for (std::size_t i = 0; i < inputs_; ++i) numbers.in[i] = input(i);
    numbers.out.assign(outputs_, T(0.0));
    f_(std::span<const T>(numbers.in), std::span<T>(numbers.out));
  }

  std::size_t inputs_, outputs_;
  F f_;
  Numbers<Value<double>> values_;
  Numbers<Dual<double>> duals_;
  Numbers<Dual<double, Tangents>> chunks_;
};

/// A forward map of so many inputs and outputs from a callable over any scalar:
///
///     auto decay = onward::forward(2, times.size(), [=](auto in, auto out) {
///       using std::exp;
///       for (std::size_t j = 0; j < times.size(); ++j) out[j] = in[0] * exp(-in[1] * times[j]);
///     });
template <class F>
CallableForward<F> forward(std::size_t inputs, std::size_t outputs, F f) {
  return CallableForward<F>(inputs, outputs, std::move(f));
}

}  // namespace onward
