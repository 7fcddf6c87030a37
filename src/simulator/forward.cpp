#include "onward/simulator/forward.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward {

OutsideDensity::OutsideDensity(std::unique_ptr<Simulator> simulator, InputPriors priors,
                               double difference_step)
    : simulator_(std::move(simulator)),
      priors_(std::move(priors)),
      step_(difference_step),
      x_(priors_.dimension()),
      dx_(x_.size()),
      ddx_(x_.size()),
      product_(x_.size()) {
  const SimulatorFacts& facts = simulator_->facts();
  if (facts.output_count() != 1)
    throw UsageError(fmt::format("{} has {} outputs, and a log density is one: give `data` and `noise`",
                                 facts.name, facts.output_count()));
  if (facts.input_count() != priors_.dimension())
    throw UsageError(fmt::format("{} has {} inputs, and there are priors for {}: give one for each",
                                 facts.name, facts.input_count(), priors_.dimension()));
  if (!(step_ > 0 && step_ < 1))
    throw UsageError(fmt::format("`difference_step` is {}: it must be between 0 and 1", step_));
}

void OutsideDensity::constrain(VectorView u, std::span<double> out) const {
  const std::vector<Value<double>> free(u.begin(), u.end());
  std::vector<Value<double>> x(out.size());
  priors_.evaluate(std::span<const Value<double>>(free), std::span<Value<double>>(x));
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i].value;
}

/// The priors' jet; the inputs, and what they change by, go to x_, dx_ and ddx_.
Jet OutsideDensity::place(VectorView u, VectorView v) {
  Jet2<double> sum(0.0);
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const Jet2<double> x = priors_.at(i).evaluate(Jet2<double>(u[i], v.empty() ? 0 : v[i], 0.0), sum);
    x_[i] = x.value;
    dx_[i] = x.slope;
    ddx_[i] = x.curvature;
  }
  return {sum.value, sum.slope, sum.curvature};
}

double OutsideDensity::output_at(VectorView x) {
  if (std::ranges::equal(x, known_at_)) return known_;
  known_at_.clear();
  double out = 0;
  simulator_->evaluate(x, {&out, 1});
  known_at_.assign(x.begin(), x.end());
  return known_ = out;
}

std::optional<double> OutsideDensity::beside(VectorView u, VectorView v, double step, Order order) {
  beside_.resize(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) beside_[i] = u[i] + step * v[i];
  place(beside_, v);
  try {
    double out = 0;
    if (order == Order::value)
      simulator_->evaluate(x_, {&out, 1});
    else
      out = slope_here();
    if (std::isfinite(out)) return out;
  } catch (const std::domain_error&) {
  }
  return std::nullopt;
}

double OutsideDensity::slope_here() {
  const SimulatorFacts& facts = simulator_->facts();
  double slope = 0;
  if (facts.jacobian) {
    double unused = 0;
    simulator_->apply_jacobian(x_, dx_, {&unused, 1}, {&slope, 1});
    return slope;
  }
  const double one = 1;
  simulator_->apply_transposed(x_, {&one, 1}, product_);
  for (std::size_t i = 0; i < x_.size(); ++i) slope += product_[i] * dx_[i];
  return slope;
}

/// dx' H dx, and what the coordinates' own curvature adds.
double OutsideDensity::curvature_here() {
  const double one = 1;
  simulator_->apply_hessian(x_, {&one, 1}, dx_, product_);
  double curvature = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) curvature += product_[i] * dx_[i];
  if (std::ranges::all_of(ddx_, [](double d) { return d == 0; })) return curvature;
  dx_.swap(ddx_);
  return curvature + slope_here();
}

namespace {

/// What a function changes by, from both sides of a place or, where it has no value on one of them, from the
/// other: a rule that is the same for v and -v.
double difference(double middle, std::optional<double> ahead, std::optional<double> behind, double step) {
  if (!ahead && !behind) return 0;
  return (ahead.value_or(middle) - behind.value_or(middle)) / (ahead && behind ? 2 * step : step);
}

}  // namespace

Jet OutsideDensity::jet(VectorView u, VectorView v, Order order) {
  const SimulatorFacts& facts = simulator_->facts();
  Jet jet = place(u, order == Order::value ? VectorView{} : v);
  const double value = output_at(x_);
  jet.value += value;
  if (order == Order::value) return {jet.value, 0, 0};
  // As far to both sides, so that v and -v have the same differences.
  double longest = 0;
  for (std::size_t i = 0; i < u.size(); ++i)
    longest = std::max(longest, std::abs(v[i]) / std::max(1.0, std::abs(u[i])));
  const double step = longest > 0 ? step_ / longest : step_;
  if (facts.jacobian || facts.gradient) {
    const double here = slope_here();
    jet.slope += here;
    if (order == Order::slope) return {jet.value, jet.slope, 0};
    if (facts.hessian)
      jet.curvature += curvature_here();
    else
      jet.curvature +=
          difference(here, beside(u, v, step, Order::slope), beside(u, v, -step, Order::slope), step);
    return jet;
  }
  const auto ahead = beside(u, v, step, Order::value), behind = beside(u, v, -step, Order::value);
  jet.slope += difference(value, ahead, behind, step);
  if (order == Order::slope) return {jet.value, jet.slope, 0};
  if (ahead && behind) jet.curvature += ((*ahead - value) - (value - *behind)) / (step * step);
  return jet;
}

double OutsideDensity::gradient_at(VectorView u, std::span<double> out) {
  double value = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    Dual<double> sum(0.0);
    const Dual<double> x = priors_.at(i).evaluate(Dual<double>(u[i], 1.0), sum);
    x_[i] = x.value;
    dx_[i] = x.slope;
    out[i] = sum.slope;
    value += sum.value;
  }
  value += output_at(x_);
  const double one = 1;
  simulator_->apply_transposed(x_, {&one, 1}, product_);
  for (std::size_t i = 0; i < x_.size(); ++i) out[i] += product_[i] * dx_[i];
  return value;
}

}  // namespace onward
