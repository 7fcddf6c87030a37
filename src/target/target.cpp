#include "onward/target/target.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// 1 for infinities and NaN: a test of bits, which loops do many at a time.
std::uint64_t not_finite(double x) {
  constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000;
  return (std::bit_cast<std::uint64_t>(x) & exponent) == exponent ? 1 : 0;
}

bool all_finite(VectorView x) {
  std::uint64_t bad = 0;
  for (const double entry : x) bad |= not_finite(entry);
  return bad == 0;
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

/// Whether theta + alpha v is a place.
bool all_finite(VectorView theta, double alpha, VectorView v) {
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i < v.size(); ++i) bad |= not_finite(theta[i] + alpha * v[i]);
  return bad == 0;
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

/// What the model says, or, if it throws std::domain_error, that there is no density.
template <class Evaluate>
auto AnyTarget::guarded(const Evaluate& evaluate) -> decltype(evaluate()) {
  try {
    return evaluate();
  } catch (const std::domain_error& problem) {
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
  check_reads_sources();
  return counted(order, [&] { return guarded([&] { return model_->jet_from(theta, v, order); }); });
}

/// An evaluation along two lines at once.
template <class Guarded>
JetPair AnyTarget::counted_pair(Order order, const Guarded& guarded) {
  ++(order == Order::slope ? counts_.slope_pairs : counts_.curvature_pairs);
  const std::uint64_t before = counts_.nonfinite;
  const JetPair raw = guarded();
  const JetPair pair{settled(raw.first), settled(raw.second)};
  if (pair.first.value == minus_infinity && counts_.nonfinite == before) ++counts_.nonfinite;
  return pair;
}

JetPair AnyTarget::jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
  if (!model_->has_jet_pair()) return {jet(theta, v, order), jet(theta, w, order)};
  return counted_pair(order,
                      [&] { return guarded(theta, [&] { return model_->jet_pair(theta, v, w, order); }); });
}

void AnyTarget::check_reads_sources() const {
  if (!has_jet_from())
    throw UsageError("this target offers no jets of vectors that are not in memory: use held ones");
}

/// theta + alpha v, in memory.
VectorView AnyTarget::Line::place(double alpha) {
  if (alpha == 0) return *position_;
  std::vector<double>& out = target_->place_;
  const VectorView theta = *position_, v = v_.held();
  out.resize(theta.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = theta[i] + alpha * v[i];
  placed_ = alpha;
  return out;
}

/// What the model's own line says of a place, if it is one. Of directions that are not in memory the model
/// itself sees whether they lead to one.
template <class Evaluate>
auto AnyTarget::Line::guarded(double alpha, const Evaluate& evaluate) -> decltype(evaluate()) {
  AnyTarget& t = *target_;
  if (!v_.source() && !all_finite(*position_, alpha, v_.held())) {
    ++t.counts_.nonfinite;
    return nowhere<decltype(evaluate())>();
  }
  return t.guarded([&] {
    if (!started_) t.model_->start_line(*position_, v_);
    started_ = true;
    return evaluate();
  });
}

Jet AnyTarget::Line::jet(double alpha, Order order) {
  AnyTarget& t = *target_;
  if (plain_) return t.jet(place(alpha), along(order), order);
  if (t.model_->has_line)
    return t.counted(order, [&] { return guarded(alpha, [&] { return t.model_->line_jet(alpha, order); }); });
  return t.jet_from(PlaceOnLine(*position_, alpha, v_), order == Order::value ? nullptr : v_.source(), order);
}

JetPair AnyTarget::Line::jet_pair(double alpha, const Direction& next, Order order) {
  AnyTarget& t = *target_;
  if (t.model_->has_line_pair())
    return t.counted_pair(
        order, [&] { return guarded(alpha, [&] { return t.model_->line_jet_pair(alpha, next, order); }); });
  if (!plain_ || next.source())
    throw UsageError("this target offers no jets along two lines at once: ask for them one by one");
  return t.jet_pair(place(alpha), v_.held(), next.held(), order);
}

void AnyTarget::Line::move(double alpha) {
  AnyTarget& t = *target_;
  if (plain_) {
    if (placed_ != alpha) place(alpha);
    std::swap(*position_, t.place_);
    placed_ = 0;
    return;
  }
  if (started_) t.model_->commit(alpha);
  if (!v_.source()) {
    for (std::size_t i = 0; i < position_->size(); ++i) (*position_)[i] += alpha * v_.held()[i];
    return;
  }
  std::array<double, 4096> stretch;
  for (std::size_t first = 0; first < position_->size(); first += stretch.size()) {
    const std::size_t count = std::min(stretch.size(), position_->size() - first);
    const VectorView there = PlaceOnLine(*position_, alpha, v_).read(first, std::span(stretch).first(count));
    std::copy(there.begin(), there.end(), position_->begin() + static_cast<std::ptrdiff_t>(first));
  }
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
  } catch (const std::domain_error& problem) {
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

void AnyTarget::report(VectorView theta, const Stream& stream, std::uint64_t step,
                       std::span<double> out) const {
  if (!model_->has_report()) return constrain(theta, out);
  Random random(stream, step);
  model_->report(theta, random, out);
}

AnyTarget AnyTarget::tempered(double temperature) const {
  if (!(temperature > 0) || !std::isfinite(temperature))
    throw UsageError(fmt::format("temperature {} is not usable: it must be a positive number", temperature));
  AnyTarget copy(*this);
  copy.temperature_ = temperature_ * temperature;
  return copy;
}

}  // namespace onward
