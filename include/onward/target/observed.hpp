#pragma once
// A simulator, noisy data and priors as a target. The simulator gives its outputs and at most their
// derivative J v along a direction. That is enough for the exact slope rᵀS⁻¹Jv and for the curvature of Gauss
// and Newton, -(Jv)ᵀS⁻¹Jv, to which the exact slope and curvature of the priors are added. A simulator that
// gives its outputs alone is run at two places of the line besides, and the difference stands for J v.
//
//     auto parameters = onward::Parameters{}.positive("a").positive("k").positive("sigma");
//     auto target = onward::observed(decay, y, onward::normal_noise("sigma"), parameters,
//                                    [](auto a, auto k, auto sigma) { return -a - k - sigma; });
//
// A curvature that is not the second derivative leaves samplers exact: it only scales proposals, and it is a
// function of the place and the direction alone, the same there and back (docs/simulators.md).

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/error.hpp"
#include "onward/target/forward.hpp"
#include "onward/target/jet.hpp"
#include "onward/target/noise.hpp"
#include "onward/target/parameters.hpp"

namespace onward {

/// What is known before the data. `evaluate(u, x)` turns free numbers u into parameters x, of any scalar
/// type, and gives the log density over u: priors and the Jacobian.
template <class P>
concept PriorLaw = std::copy_constructible<P> &&
    requires(const P& p, std::span<const Jet2<double>> u, std::span<Jet2<double>> x, std::span<double> out) {
  { p.dimension() } -> std::convertible_to<std::size_t>;
  { p.constrained_size() } -> std::convertible_to<std::size_t>;
  { p.names() } -> std::convertible_to<std::vector<std::string>>;
  { p.evaluate(u, x) } -> std::convertible_to<Jet2<double>>;
};

/// Declared parameters and a log density over them.
template <class P, class F>
class DeclaredPrior {
 public:
  DeclaredPrior(P parameters, F density) : parameters_(std::move(parameters)), density_(std::move(density)) {}

  std::size_t dimension() const { return parameters_.dimension(); }
  std::size_t constrained_size() const { return parameters_.constrained_size(); }
  std::vector<std::string> names() const { return parameters_.names(); }

  template <class T>
  T evaluate(std::span<const T> u, std::span<T> x) const {
    return parameters_.log_density(u, [&](const auto&... arguments) -> T {
      T* end = x.data();
      ((end = put(arguments, end)), ...);
      return T(density_(arguments...));
    });
  }

 private:
  template <class T>
  static T* put(const T& number, T* to) {
    *to = number;
    return to + 1;
  }
  template <class T>
  static T* put(const std::span<const T>& numbers, T* to) {
    return std::copy(numbers.begin(), numbers.end(), to);
  }
  template <class T>
  static T* put(const MatrixView<T>& matrix, T* to) {
    return std::copy_n(matrix.data(), matrix.rows() * matrix.columns(), to);
  }

  P parameters_;
  F density_;
};

/// See observed().
template <ForwardMap Forward, PriorLaw Prior>
class Observed {
 public:
  Observed(Forward forward, std::vector<double> data, Noise noise, Prior prior)
      : forward_(std::move(forward)),
        prior_(std::move(prior)),
        inputs_(forward_.inputs()),
        data_(std::move(data), std::move(noise), prior_.names(), inputs_, forward_.outputs()),
        x_(prior_.constrained_size()),
        dx_(x_.size()),
        tangent_(data_.size()) {}

  std::size_t dimension() const { return prior_.dimension(); }
  std::vector<std::string> names() const { return prior_.names(); }
  void constrain(VectorView u, std::span<double> out) const {
    const std::vector<Value<double>> free(u.begin(), u.end());
    std::vector<Value<double>> x(out.size());
    prior_.evaluate(std::span<const Value<double>>(free), std::span<Value<double>>(x));
    for (std::size_t k = 0; k < x.size(); ++k) out[k] = x[k].value;
  }

  Jet jet(VectorView u, VectorView v, Order order) {
    Jet jet;
    if (order == Order::value) {
      jet.value = place(values_, u, [&](std::size_t i) { return Value<double>(u[i]); }).value;
      return sum(jet, data_.jet(outputs_at(inputs()), {}, x_, {}, order));
    }
    if (order == Order::slope) {
      const auto f = place(duals_, u, [&](std::size_t i) { return Dual<double>(u[i], v[i]); });
      jet = {f.value, f.slope, 0};
    } else {
      const auto f = place(jets_, u, [&](std::size_t i) { return Jet2<double>(u[i], v[i], 0.0); });
      jet = {f.value, f.slope, f.curvature};
    }
    const VectorView outputs = outputs_and_tangent(u, v);
    return sum(jet, data_.jet(outputs, tangent_, x_, dx_, order));
  }

  /// By Jᵀ of the forward map, where it offers that.
  double gradient(VectorView u, std::span<double> out) requires HasApplyTransposed<Forward> {
    place(values_, u, [&](std::size_t i) { return Value<double>(u[i]); });
    dx_.assign(x_.size(), 0);
    const double likelihood = data_.sensitivity(outputs_at(inputs()), x_, tangent_, dx_);
    forward_.apply_transposed(inputs(), tangent_, std::span(dx_).first(inputs_));
    // The gradient of prior + dx·x over u, where dx is held fixed.
    double prior = 0;
    onward::gradient(
        [&](std::span<const Reverse<double>> free) {
          reverse_.resize(x_.size());
          Reverse<double> f = prior_.evaluate(free, std::span<Reverse<double>>(reverse_));
          prior = f.value;
          for (std::size_t k = 0; k < x_.size(); ++k)
            if (dx_[k] != 0) f += dx_[k] * reverse_[k];
          return f;
        },
        u, out);
    return prior + likelihood;
  }

  /// Of each datum, at a place as it is sampled.
  void log_likelihood(VectorView u, std::span<double> out) {
    place(values_, u, [&](std::size_t i) { return Value<double>(u[i]); });
    data_.log_likelihood(outputs_at(inputs()), x_, out);
  }

  /// How far the two runs of a difference are from the place, beside the free number that moves most (in its
  /// size, or 1 if it is smaller). Larger is better for a simulator whose outputs have noise of their own,
  /// such as the tolerance of a solver.
  Observed& difference_step(double step) {
    if (!(step > 0 && step < 1))
      throw UsageError("`difference_step` is " + std::to_string(step) + ": it must be between 0 and 1");
    difference_step_ = step;
    return *this;
  }

  const Forward& forward() const { return forward_; }

 private:
  template <class T>
  struct Numbers {
    std::vector<T> free, constrained;
  };
  struct Run {
    std::vector<double> inputs, outputs;
  };

  VectorView inputs() const { return VectorView(x_).first(inputs_); }
  static Jet sum(const Jet& a, const Jet& b) {
    return {a.value + b.value, a.slope + b.slope, a.curvature + b.curvature};
  }

  /// The parameters and what they change by go to x_ and dx_.
  template <class T, class At>
  T place(Numbers<T>& numbers, VectorView u, const At& at) {
    numbers.free.resize(u.size());
    numbers.constrained.resize(x_.size());
    for (std::size_t i = 0; i < u.size(); ++i) numbers.free[i] = at(i);
    const T f = prior_.evaluate(std::span<const T>(numbers.free), std::span<T>(numbers.constrained));
    for (std::size_t k = 0; k < x_.size(); ++k) {
      x_[k] = numbers.constrained[k].value;
      if constexpr (!std::is_same_v<T, Value<double>>) dx_[k] = numbers.constrained[k].slope;
    }
    return f;
  }

  /// Outputs of the last two places are kept: a sampler asks again about where it is, along another line.
  VectorView outputs_at(VectorView x) {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (std::ranges::equal(runs_[i].inputs, x)) {
        last_ = i;
        return runs_[i].outputs;
      }
    Run& run = runs_[1 - last_];
    run.inputs.clear();
    run.outputs.resize(data_.size());
    forward_.apply(x, run.outputs);
    run.inputs.assign(x.begin(), x.end());
    last_ = 1 - last_;
    return run.outputs;
  }

  VectorView outputs_and_tangent(VectorView u, VectorView v) {
    const VectorView moves = VectorView(dx_).first(inputs_);
    if (std::ranges::all_of(moves, [](double d) { return d == 0; })) {
      std::ranges::fill(tangent_, 0.0);  // priors and noise alone change along this line
      return outputs_at(inputs());
    }
    if constexpr (HasApplyJacobian<Forward>) {
      beside_.resize(data_.size());
      forward_.apply_jacobian(inputs(), moves, beside_, tangent_);
      return beside_;
    } else {
      const VectorView outputs = outputs_at(inputs());
      if constexpr (HasJacobianAlone<Forward>)
        forward_.apply_jacobian(inputs(), moves, tangent_);
      else
        difference(u, v, outputs);
      return outputs;
    }
  }

  /// The tangent from runs on both sides. Where one side cannot be simulated the other and the middle serve,
  /// and where neither can the outputs count as flat: any rule will do that is the same for v and -v.
  void difference(VectorView u, VectorView v, VectorView middle) {
    double longest = 0;
    for (std::size_t i = 0; i < u.size(); ++i)
      longest = std::max(longest, std::abs(v[i]) / std::max(1.0, std::abs(u[i])));
    const double step = difference_step_ / longest;
    beside_.resize(data_.size());
    after_.resize(data_.size());
    const bool ahead = simulated(u, v, step, after_), behind = simulated(u, v, -step, beside_);
    const VectorView high = ahead ? VectorView(after_) : middle, low = behind ? VectorView(beside_) : middle;
    const double between = ahead && behind ? 2 * step : step;
    for (std::size_t j = 0; j < tangent_.size(); ++j) tangent_[j] = (high[j] - low[j]) / between;
  }

  bool simulated(VectorView u, VectorView v, double step, std::span<double> out) {
    auto& [free, constrained] = values_;
    free.resize(u.size());
    constrained.resize(x_.size());
    for (std::size_t i = 0; i < u.size(); ++i) free[i] = Value<double>(u[i] + step * v[i]);
    prior_.evaluate(std::span<const Value<double>>(free), std::span<Value<double>>(constrained));
    there_.resize(inputs_);
    for (std::size_t k = 0; k < inputs_; ++k) there_[k] = constrained[k].value;
    try {
      forward_.apply(there_, out);
    } catch (const std::domain_error&) {
      return false;
    }
    return std::ranges::all_of(out, [](double y) { return std::isfinite(y); });
  }

  Forward forward_;
  Prior prior_;
  std::size_t inputs_;
  NoisyData data_;
  double difference_step_ = 1e-4;

  std::vector<double> x_, dx_, tangent_, beside_, after_, there_;
  std::array<Run, 2> runs_;
  std::size_t last_ = 0;
  Numbers<Value<double>> values_;
  Numbers<Dual<double>> duals_;
  Numbers<Jet2<double>> jets_;
  std::vector<Reverse<double>> reverse_;
};

/// A target from a forward map, data, noise and what is known before: a PriorLaw, whose first numbers are the
/// inputs of the forward map. Those after them are for noise and priors alone.
template <ForwardMap Forward, PriorLaw Prior>
Observed<Forward, Prior> observed(Forward forward, std::vector<double> data, Noise noise, Prior prior) {
  return {std::move(forward), std::move(data), std::move(noise), std::move(prior)};
}

/// From declared parameters and a log density over them, which gets one argument for each.
template <ForwardMap Forward, class... Kinds, class F>
auto observed(Forward forward, std::vector<double> data, Noise noise, Parameters<Kinds...> parameters,
              F log_prior) {
  using Law = DeclaredPrior<Parameters<Kinds...>, F>;
  return Observed<Forward, Law>(std::move(forward), std::move(data), std::move(noise),
                                Law(std::move(parameters), std::move(log_prior)));
}

/// The inputs are any numbers, called theta; the log prior gets them as one vector.
template <ForwardMap Forward, class F>
requires(!PriorLaw<F>) auto observed(Forward forward, std::vector<double> data, Noise noise, F log_prior) {
  const std::size_t inputs = forward.inputs();
  return observed(std::move(forward), std::move(data), std::move(noise), Parameters{}.vector("theta", inputs),
                  std::move(log_prior));
}

/// Without a prior: flat over all numbers, so that the data alone must tell where the inputs are.
template <ForwardMap Forward>
auto observed(Forward forward, std::vector<double> data, Noise noise) {
  return observed(std::move(forward), std::move(data), std::move(noise),
                  [](const auto& theta) { return 0.0 * theta[0]; });
}

}  // namespace onward
