#include "onward/target/target.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

bool all_finite(VectorView x) {
  double zero = 0;  // 0·x is 0 for a number and NaN for the rest: no branch in the loop
  for (double entry : x) zero += 0 * entry;
  return zero == 0;
}

void count_throw(Counts& counts, const char* message) {
  ++counts.nonfinite;
  if (counts.threw++ == 0) counts.first_message = message;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  jets += other.jets;
  gradients += other.gradients;
  nonfinite += other.nonfinite;
  if (threw == 0) first_message = other.first_message;
  threw += other.threw;
  return *this;
}

Jet AnyTarget::jet(VectorView theta, VectorView v, Order order) {
  ++counts_.jets;
  if (!all_finite(theta)) {
    // A proposal that flew off to infinity is no place; a simulator asked there might never return.
    ++counts_.nonfinite;
    return {minus_infinity, 0, 0};
  }
  Jet jet;
  try {
    jet = model_->jet(theta, v, order);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    count_throw(counts_, problem.what());
    return {minus_infinity, 0, 0};
  }
  if (temperature_ != 1) {
    jet.value /= temperature_;
    jet.slope /= temperature_;
    jet.curvature /= temperature_;
  }
  if (!is_finite(jet)) {
    ++counts_.nonfinite;
    // -inf is a legitimate "no density here"; NaN and +inf must not look like one that could be accepted.
    return {minus_infinity, 0, 0};
  }
  return jet;
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
