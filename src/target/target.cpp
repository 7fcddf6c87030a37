#include "onward/target/target.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

bool all_finite(VectorView x) {
  // 0·x is 0 for a number and NaN for the rest: no branch in the loop, and sums that need not wait for each
  // other.
  std::array<double, 32> zeros{};
  std::size_t i = 0;
  for (; i + zeros.size() <= x.size(); i += zeros.size())
    for (std::size_t lane = 0; lane < zeros.size(); ++lane) zeros[lane] += 0 * x[i + lane];
  for (; i < x.size(); ++i) zeros[0] += 0 * x[i];
  return std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0; });
}

/// What stands for "no density".
template <class Result>
Result nowhere() {
  constexpr Jet jet{minus_infinity, 0, 0};
  if constexpr (std::same_as<Result, JetPair>)
    return {jet, jet};
  else
    return jet;
}

void count_throw(Counts& counts, const char* message) {
  ++counts.nonfinite;
  if (counts.threw++ == 0) counts.first_message = message;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  values += other.values;
  slopes += other.slopes;
  curvatures += other.curvatures;
  slope_pairs += other.slope_pairs;
  curvature_pairs += other.curvature_pairs;
  gradients += other.gradients;
  nonfinite += other.nonfinite;
  if (threw == 0) first_message = other.first_message;
  threw += other.threw;
  return *this;
}

/// What the model says, or, if it throws, that there is no density.
template <class Evaluate>
auto AnyTarget::guarded(const Evaluate& evaluate) -> decltype(evaluate()) {
  try {
    return evaluate();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    count_throw(counts_, problem.what());
    return nowhere<decltype(evaluate())>();
  }
}

/// The same of a place, if it is one.
template <class Evaluate>
auto AnyTarget::guarded(VectorView theta, const Evaluate& evaluate) -> decltype(evaluate()) {
  if (all_finite(theta)) return guarded(evaluate);
  // A proposal that flew off to infinity is no place; a simulator asked there might never return.
  ++counts_.nonfinite;
  return nowhere<decltype(evaluate())>();
}

/// The jet of what is sampled: tempered, and -inf where it is not finite. -inf is a legitimate "no density
/// here"; NaN and +inf must not look like one that could be accepted.
Jet AnyTarget::settled(Jet jet) {
  if (temperature_ != 1) {
    jet.value /= temperature_;
    jet.slope /= temperature_;
    jet.curvature /= temperature_;
  }
  return is_finite(jet) ? jet : Jet{minus_infinity, 0, 0};
}

/// An evaluation along one line, or none.
template <class Guarded>
Jet AnyTarget::counted(Order order, const Guarded& guarded) {
  ++(order == Order::value ? counts_.values : order == Order::slope ? counts_.slopes : counts_.curvatures);
  const std::uint64_t before = counts_.nonfinite;
  const Jet jet = settled(guarded());
  if (jet.value == minus_infinity && counts_.nonfinite == before) ++counts_.nonfinite;
  return jet;
}

Jet AnyTarget::jet(VectorView theta, VectorView v, Order order) {
  return counted(order, [&] { return guarded(theta, [&] { return model_->jet(theta, v, order); }); });
}

Jet AnyTarget::jet_from(const VectorSource& theta, const VectorSource* v, Order order) {
  if (!has_jet_from())
    throw UsageError("this target offers no jets of vectors that are not in memory: use held ones");
  return counted(order, [&] { return guarded([&] { return model_->jet_from(theta, v, order); }); });
}

JetPair AnyTarget::jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
  if (!model_->has_jet_pair()) return {jet(theta, v, order), jet(theta, w, order)};
  ++(order == Order::slope ? counts_.slope_pairs : counts_.curvature_pairs);
  const std::uint64_t before = counts_.nonfinite;
  const JetPair raw = guarded(theta, [&] { return model_->jet_pair(theta, v, w, order); });
  const JetPair pair{settled(raw.first), settled(raw.second)};
  if (pair.first.value == minus_infinity && counts_.nonfinite == before) ++counts_.nonfinite;
  return pair;
}

double AnyTarget::gradient(VectorView theta, std::span<double> out) {
  if (!has_gradient())
    throw UsageError(
        "this target offers no gradient, which the sampler mala needs; try a forward sampler such as "
        "pc-line-fmala");
  ++counts_.gradients;
  double value = minus_infinity;
  if (!all_finite(theta)) {
    ++counts_.nonfinite;
    std::fill(out.begin(), out.end(), 0.0);
    return minus_infinity;
  }
  try {
    value = model_->gradient(theta, out);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    count_throw(counts_, problem.what());
    std::fill(out.begin(), out.end(), 0.0);
    return minus_infinity;
  }
  if (temperature_ != 1) {
    value /= temperature_;
    for (double& g : out) g /= temperature_;
  }
  if (!std::isfinite(value) || !all_finite(out)) {
    ++counts_.nonfinite;
    std::fill(out.begin(), out.end(), 0.0);
    return minus_infinity;
  }
  return value;
}

std::vector<std::string> AnyTarget::names() const {
  auto names = model_->names();
  if (names.empty()) {
    names.reserve(dimension());
    for (std::size_t i = 1; i <= dimension(); ++i) names.push_back(fmt::format("theta.{}", i));
  }
  if (!model_->has_constrain() && names.size() != dimension())
    throw UsageError(fmt::format(
        "the target names {} parameters but has dimension {}; give as many names, or offer constrain()",
        names.size(), dimension()));
  return names;
}

void AnyTarget::constrain(VectorView theta, std::span<double> out) const {
  if (model_->has_constrain())
    model_->constrain(theta, out);
  else
    std::copy(theta.begin(), theta.end(), out.begin());
}

AnyTarget AnyTarget::tempered(double temperature) const {
  if (!(temperature > 0) || !std::isfinite(temperature))
    throw UsageError(fmt::format("temperature {} is not usable: it must be a positive number", temperature));
  AnyTarget copy(*this);
  copy.temperature_ = temperature_ * temperature;
  return copy;
}

}  // namespace onward
