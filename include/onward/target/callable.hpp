#pragma once
// A target from one generic callable: the user writes the log density once, over any scalar type, and gets
// values, jets and gradients from it.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/error.hpp"
#include "onward/target/checks.hpp"
#include "onward/target/line_view.hpp"
#include "onward/target/parameters.hpp"
#include "onward/target/reject.hpp"
#include "onward/target/reported.hpp"
#include "onward/target/target.hpp"

namespace onward {

/// f(t) -> T, where t reads like a std::span<const T> (t[i], t.size(), range-for, t.data()) and T is any of
/// the forward and reverse scalars. Each copy has its own scratch memory.
template <class F>
class CallableTarget {
 public:
  CallableTarget(std::size_t dimension, F f, std::vector<std::string> names = {})
      : dimension_(dimension), f_(std::move(f)), names_(std::move(names)) {
    if (dimension_ == 0) throw UsageError("a target needs a dimension of at least 1; it was given 0");
    if (!names_.empty() && names_.size() != dimension_)
      throw UsageError("a target of dimension " + std::to_string(dimension_) + " was given " +
                       std::to_string(names_.size()) + " names");
  }

  std::size_t dimension() const { return dimension_; }
  std::vector<std::string> names() const { return names_; }
  const F& callable() const { return f_; }

  Jet jet(VectorView theta, VectorView v, Order order) {
    switch (order) {
      case Order::value: {
        const auto f = evaluate(LineView<Value<double>>(theta, v, values_));
        return {f.value, 0, 0};
      }
      case Order::slope: {
        const auto f = evaluate(LineView<Dual<double>>(theta, v, duals_));
        return {f.value, f.slope, 0};
      }
      case Order::curvature: {
        const auto f = evaluate(LineView<Jet2<double>>(theta, v, jets_));
        return {f.value, f.slope, f.curvature};
      }
    }
    return {};
  }

  /// Jets along two lines through theta in one pass: the same bits as one after the other.
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
    if (order == Order::curvature) {
      const auto f = evaluate(LineView<Jet2<double, TwoTangents>>(theta, v, w, jet_pairs_));
      return {{f.value, f.slope.first(), f.curvature.first()},
              {f.value, f.slope.second(), f.curvature.second()}};
    }
    const auto f = evaluate(LineView<Dual<double, TwoTangents>>(theta, v, w, dual_pairs_));
    return {{f.value, f.slope.first(), 0}, {f.value, f.slope.second(), 0}};
  }

  /// By forward mode with a register full of tangents in each pass, or by reverse mode: whichever is cheaper
  /// by what an evaluation does, counted once. docs/decisions/gradient.md has the figures.
  double gradient(VectorView theta, std::span<double> out) {
    if (!forward_is_cheaper_) forward_is_cheaper_ = compare_by_counts();
    return *forward_is_cheaper_ ? forward_gradient(theta, out) : reverse_gradient(theta, out);
  }

  double forward_gradient(VectorView theta, std::span<double> out) {
    using T = Dual<double, AxisTangents>;
    constexpr std::size_t lanes = simd::lanes_v<AxisTangents>;
    double value = 0;
    for (std::size_t first = 0; first < dimension_; first += lanes) {
      const T f = evaluate(LineView<T>(theta, first, chunk_));
      value = f.value;
      simd::store_partial(&out[first], std::min(lanes, dimension_ - first), f.slope);
    }
    return value;
  }

  double reverse_gradient(VectorView theta, std::span<double> out) {
    tape_.start(theta);
    return ad::gradient_on(tape_, out, [&] { return record(theta); });
  }

 private:
  template <class T>
  T evaluate(const LineView<T>& view) {
    if constexpr (std::is_invocable_v<F&, const LineView<T>&>)
      return f_(view);
    else
      return f_(std::span<const T>(view));
  }

  /// Counts are taken at 0 and not where the first gradient is asked for: a chain that is resumed elsewhere
  /// must choose alike.
  bool compare_by_counts() {
    constexpr std::size_t lanes = simd::lanes_v<AxisTangents>;
    const auto passes = static_cast<double>((dimension_ + lanes - 1) / lanes);
    constexpr double most_passes = 16;  // forward mode never wins beyond
    if (passes > most_passes) return false;
    const std::vector<double> zero(dimension_);
    tape_.start(zero);
    try {
      const Tape<double>::Active active(tape_);
      record(zero);
    } catch (const std::exception&) {
      return passes <= 2;  // no place for this model
    }
    const auto counts = tape_.counts();
    const auto nodes = static_cast<double>(counts.nodes), read = static_cast<double>(counts.read);
    // Nanoseconds, about.
    const double forward = passes * (1.2 * nodes + 1.1 * read), reverse = 20 + 4.5 * nodes + 0.4 * read;
    return forward <= reverse;
  }

  // In a frame of its own, where the registers are all for the model.
  [[gnu::noinline]] Reverse<double> record(VectorView theta) {
    return evaluate(LineView<Reverse<double>>(theta));
  }

  std::size_t dimension_;
  F f_;
  std::vector<std::string> names_;
  std::vector<Value<double>> values_;
  std::vector<Dual<double>> duals_;
  std::vector<Jet2<double>> jets_;
  std::vector<Dual<double, TwoTangents>> dual_pairs_;
  std::vector<Jet2<double, TwoTangents>> jet_pairs_;
  std::vector<Dual<double, AxisTangents>> chunk_;
  Tape<double> tape_;
  std::optional<bool> forward_is_cheaper_;
};

/// A target of that dimension from a log density, up to a constant:
///
///     auto target = onward::target(2, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1]); });
template <class F>
auto target(std::size_t dimension, F f, std::vector<std::string> names = {}) {
  if constexpr (detail::good_callable<F>())
    return CallableTarget<F>(dimension, std::move(f), std::move(names));
  else
    return detail::NoTarget{};
}

/// A target over declared parameters: f gets one constrained argument a parameter, the Jacobian is added, and
/// draws are reported as the parameters themselves.
template <class P, class F>
class ParametrisedTarget : public CallableTarget<ParametrisedDensity<P, F>> {
 public:
  ParametrisedTarget(P parameters, F f)
      : CallableTarget<ParametrisedDensity<P, F>>(parameters.dimension(), {parameters, std::move(f)}) {}

  const P& parameters() const { return this->callable().parameters(); }
  std::vector<std::string> names() const { return parameters().names(); }
  void constrain(VectorView theta, std::span<double> out) const { parameters().constrain(theta, out); }

  /// The same target that reports more of its draws, or less: see Reported.
  template <class... Kinds, class G>
  auto generate(const Quantities<Kinds...>& quantities, G g) const {
    return Reported(*this).generate(quantities, std::move(g));
  }
  auto hide(std::initializer_list<std::string_view> names) const { return Reported(*this).hide(names); }
  template <class G>
  auto log_likelihood(std::string name, std::size_t count, G g) const {
    return Reported(*this).log_likelihood(std::move(name), count, std::move(g));
  }
};

/// A target from declared parameters and a log density over them:
///
///     auto target = onward::target(onward::Parameters{}.real("mu").positive("tau"), [](auto mu, auto tau) {
///     ... });
template <class... Kinds, class F>
auto target(Parameters<Kinds...> parameters, F f) {
  if constexpr (detail::good_density<F, Parameters<Kinds...>>())
    return ParametrisedTarget<Parameters<Kinds...>, F>(std::move(parameters), std::move(f));
  else
    return detail::NoTarget{};
}

}  // namespace onward
