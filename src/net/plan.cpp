#include "plan.hpp"

#include <algorithm>
#include <cmath>

namespace onward::net {
namespace {

bool is_relu(const Layer& layer) {
  const auto* activation = std::get_if<Activation>(&layer);
  return activation && activation->kind == ActivationKind::relu;
}

bool is_max_pool(const Layer& layer) {
  const auto* pool = std::get_if<Pool>(&layer);
  return pool && pool->kind == PoolKind::max;
}

/// Leaves the order of numbers in a row as it is.
bool changes_nothing(const Layout::Step& step) {
  return std::holds_alternative<Flatten>(step.layer) &&
         (step.in.channels == 1 || step.in.height * step.in.width == 1);
}

}  // namespace

Plan::Plan(const Network& network, std::size_t piece) : network_(network) {
  const auto& steps = network_.layout.steps();
  // Layers whose input a residual adds later: it must be there.
  std::vector<char> wanted(steps.size() + 1, 0);
  for (std::size_t s = 0; s < steps.size(); ++s)
    if (const auto* residual = std::get_if<Residual>(&steps[s].layer)) wanted[s - residual->layers] = 1;

  std::vector<std::size_t> tensor_before(steps.size() + 1, 0);
  std::size_t products = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    tensor_before[s] = units_.size();
    const auto& step = steps[s];
    if (changes_nothing(step)) continue;
    Unit unit{.layer = step.layer,
              .step = s,
              .in = step.in,
              .out = step.out,
              .begin = step.begin,
              .end = step.end,
              .norm = step.statistics};
    if (const auto* residual = std::get_if<Residual>(&step.layer))
      unit.from = tensor_before[s - residual->layers];
    if (unit.is_product()) {
      unit.product = products++;
      unit.relu = s + 1 < steps.size() && is_relu(steps[s + 1].layer) && !wanted[s + 1];
      if (unit.relu) ++s;
    }
    units_.push_back(unit);
  }

  last_use_.assign(units_.size() + 1, 0);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    last_use_[u] = std::max(last_use_[u], u);
    if (std::holds_alternative<Residual>(units_[u].layer)) last_use_[units_[u].from] = u;
  }
  last_use_.back() = units_.size();
  for (std::size_t u = 0; u + 1 < units_.size(); ++u)
    if (units_[u].relu && is_max_pool(units_[u + 1].layer) && last_use_[u + 1] == u + 1)
      units_[u].leaves_mask = units_[u + 1].masks = true;

  find_trunk();
  for (std::size_t u = 0; u < units_.size(); ++u)
    if (units_[u].is_product())
      products_.emplace_back(steps[units_[u].step], units_[u].relu, u < trunk_ ? chunk() : piece);
}

void Plan::find_trunk() {
  for (std::size_t u = 0; u < units_.size(); ++u)
    if (units_[u].in.height * units_[u].in.width > 1) trunk_ = u + 1;
  // What a residual adds from before must be there.
  for (std::size_t tensor = 0; tensor < trunk_; ++tensor)
    trunk_ = std::max(trunk_, std::min(last_use_[tensor] + 1, units_.size()));
}

std::size_t Plan::chunk() const {
  std::size_t most = 1;
  for (std::size_t u = 0; u < trunk_; ++u) most = std::max(most, units_[u].in.size() + units_[u].out.size());
  constexpr std::size_t cache_floats = std::size_t{1} << 19;  // 2 MB: a usual second-level cache
  constexpr std::size_t parts = 2;                            // value and slope
  return std::max(std::size_t{1}, cache_floats / (most * parts));
}

double Plan::flops(std::size_t first, std::size_t end) const {
  double sum = 0;
  for (std::size_t u = first; u < end; ++u) sum += network_.layout.steps()[units_[u].step].flops();
  return sum;
}

bool Plan::is_cut(std::size_t tensor) const {
  for (std::size_t before = 0; before < tensor; ++before)
    if (last_use_[before] >= tensor) return false;
  return true;
}

const Shape& Plan::shape(std::size_t tensor) const {
  return tensor == 0 ? network_.layout.input() : units_[tensor - 1].out;
}

void Plan::prepare(std::size_t first_unit, std::size_t end_unit, std::size_t rows, bool tangents) {
  for (std::size_t u = first_unit; u < end_unit; ++u)
    if (units_[u].is_product()) products_[units_[u].product].prepare(rows, tangents);
}

void Plan::prepare_backward(std::size_t rows) {
  prepare(0, units_.size(), rows, false);
  for (auto& product : products_) product.prepare_backward(rows);
}

Weights Plan::make_weights(bool direction) const {
  Weights weights;
  weights.is_direction = direction;
  for (const auto& product : products_) weights.packed.push_back(product.packed());
  weights.others.resize(units_.size());
  weights.moves.assign(units_.size(), 0);
  return weights;
}

std::size_t Plan::packed_bytes() const {
  std::size_t sum = 0;
  for (const auto& product : products_) sum += product.packed_bytes();
  return sum;
}

std::vector<PackedWeights> Plan::make_backward_weights() const {
  std::vector<PackedWeights> weights;
  for (const auto& product : products_) weights.push_back(product.packed_backward());
  return weights;
}

void Plan::pack(std::size_t number, float* theta, Weights& out, Workbench& bench) const {
  const Unit& unit = units_[number];
  float* own = theta + unit.begin;
  out.moves[number] = std::any_of(own, theta + unit.end, [](float x) { return x != 0; });
  auto& others = out.others[number];
  if (unit.is_norm()) {
    const std::size_t channels = unit.in.channels;
    const auto epsilon = static_cast<float>(std::get<BatchNorm>(unit.layer).epsilon);
    others.resize(2 * channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const float mean = network_.statistics[unit.norm + c];
      const float sd = std::sqrt(network_.statistics[unit.norm + channels + c] + epsilon);
      others[c] = own[c] / sd;
      others[channels + c] = own[channels + c] - others[c] * mean;
    }
  }
  if (!unit.is_product() || (out.is_direction && !out.moves[number])) return;
  const auto& made = product(unit);
  made.pack(own, out.packed[unit.product], bench);
  others.assign(own + made.weights(), theta + unit.end);
}

void Plan::pack_backward(std::size_t number, float* theta, std::vector<PackedWeights>& out,
                         Workbench& bench) const {
  const Unit& unit = units_[number];
  if (unit.is_product()) product(unit).pack_backward(theta + unit.begin, out[unit.product], bench);
}

}  // namespace onward::net
