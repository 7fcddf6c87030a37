#include "forward.hpp"

#include <algorithm>

#include "layers.hpp"
#include "overloaded.hpp"

namespace onward::net {
namespace {

/// Can write its result over what it was given.
bool works_in_place(const Unit& unit) {
  return std::holds_alternative<Activation>(unit.layer) || unit.is_norm() ||
         std::holds_alternative<Residual>(unit.layer);
}

bool moves(const Weights* direction, std::size_t unit) { return direction && direction->moves[unit]; }

/// z = hW + b and, with Taylor coefficients h1 and h2, z1 = h1 W + h V + c, z2 = h2 W + h1 V. Along two lines
/// both are slopes: z1 as above, z2 = h2 W + h U + d.
void forward_product(const Plan& plan, const Unit& unit, std::size_t number, std::size_t rows,
                     const Wanted& wanted, const Stack& in, Stack& out, Workbench& bench) {
  const Product& product = plan.product(unit);
  const auto& weights = wanted.theta->packed[unit.product];
  const float* bias = wanted.theta->others[number].data();
  const bool along_v = moves(wanted.v, number);
  if (wanted.w)
    out.parts = along_v || moves(wanted.w, number) ? 3 : in.parts;
  else
    out.parts = along_v ? std::min(in.parts + 1, wanted.order + 1) : in.parts;
  std::array<Product::Sum, 3> sums;
  sums[0] = {.out = out.part(0), .bias = bias, .relu = true};
  sums[0].add({0, &weights});
  for (std::size_t j = 1; j < out.parts; ++j) {
    const bool slope = j == 1 || wanted.w;
    const Weights* direction = wanted.w && j == 2 ? wanted.w : wanted.v;
    sums[j] = {.out = out.part(j)};
    if (moves(direction, number)) {
      sums[j].add({slope ? 0 : j - 1, &direction->packed[unit.product]});
      if (slope) sums[j].bias = direction->others[number].data();
    }
    if (j < in.parts) sums[j].add({j, &weights});
  }
  product.forward(rows, in, std::span(sums).first(out.parts), bench);
  if (unit.relu && !unit.leaves_mask) mask_by_value(out, rows * unit.out.size());
}

}  // namespace

Slots::Slots(const Plan& plan, std::size_t first_unit, std::size_t end_unit) : first_(first_unit) {
  std::vector<std::size_t> free;
  const auto take = [&] {
    if (free.empty()) return count_++;
    const std::size_t slot = free.back();
    free.pop_back();
    return slot;
  };
  slot_.push_back(take());
  for (std::size_t u = first_unit; u < end_unit; ++u) {
    const bool replaces = works_in_place(plan.units()[u]) && plan.last_use(u) == u;
    slot_.push_back(replaces ? slot_.back() : take());
    for (std::size_t tensor = first_unit; tensor <= u; ++tensor)
      if (plan.last_use(tensor) == u && !(replaces && tensor == u)) free.push_back(slot_[tensor - first_]);
  }
  for (std::size_t tensor = first_unit; tensor <= end_unit; ++tensor)
    largest_ = std::max(largest_, plan.shape(tensor).size());
}

void Slots::reserve(std::size_t rows, std::size_t parts) {
  constexpr std::size_t line = 16;  // floats in a cache line
  part_ = (rows * largest_ + line - 1) / line * line;
  slot_size_ = part_ * parts;
  if (memory_.size() < count_ * slot_size_) memory_ = Floats(count_ * slot_size_);
}

std::size_t Slots::bytes(std::size_t rows, std::size_t parts) const {
  return count_ * rows * largest_ * parts * sizeof(float);
}

Stack Slots::tensor(std::size_t number) {
  return {memory_.data() + slot_[number - first_] * slot_size_, part_, 1};
}

void forward_unit(const Plan& plan, std::size_t number, std::size_t rows, const Wanted& wanted,
                  const Stack& in, const Stack& added, Stack& out, Workbench& bench) {
  const Unit& unit = plan.units()[number];
  const std::size_t n = rows * unit.out.size();
  std::visit(Overloaded{
                 [&](const Activation& layer) {
                   wanted.w ? activate_two(layer.kind, in, out, n)
                            : activate(layer.kind, in, out, n, wanted.order);
                 },
                 [&](const Pool& layer) { pool(layer, unit.in, unit.out, rows, unit.masks, in, out); },
                 [&](const Flatten&) {
                   out.parts = in.parts;
                   for (std::size_t j = 0; j < in.parts; ++j)
                     channels_first(unit.in, rows, in.part(j), out.part(j));
                 },
                 [&](const BatchNorm&) {
                   const auto change = [&](const Weights* direction) {
                     return moves(direction, number) ? direction->others[number].data() : nullptr;
                   };
                   const float* affine = wanted.theta->others[number].data();
                   const std::size_t channels = unit.in.channels;
                   if (wanted.w)
                     scale_channels_two(channels, n / channels, affine, {change(wanted.v), change(wanted.w)},
                                        in, out);
                   else
                     scale_channels(channels, n / channels, affine, change(wanted.v), in, out, wanted.order);
                 },
                 [&](const Residual&) { add(in, added, out, n); },
                 [&](const auto&) {  // a product
                   forward_product(plan, unit, number, rows, wanted, in, out, bench);
                 },
             },
             unit.layer);
}

Stack forward(const Plan& plan, std::size_t first, std::size_t end, std::size_t rows, const Wanted& wanted,
              Slots& slots, const Stack& in, Stack out, Workbench& bench) {
  if (first == end) {
    out.parts = in.parts;
    for (std::size_t j = 0; j < in.parts && in.data != out.data; ++j)
      std::copy_n(in.part(j), rows * plan.shape(first).size(), out.part(j));
    return out;
  }
  std::vector<Stack> tensors{in};
  for (std::size_t u = first; u < end; ++u) {
    Stack made = u + 1 == end ? out : slots.tensor(u + 1);
    const std::size_t from =
        std::holds_alternative<Residual>(plan.units()[u].layer) ? plan.units()[u].from : u;
    forward_unit(plan, u, rows, wanted, tensors.back(), tensors[from - first], made, bench);
    tensors.push_back(made);
  }
  return tensors.back();
}

PieceMemory::PieceMemory(const Plan& plan)
    : trunk(plan, 0, plan.trunk()), head(plan, plan.trunk(), plan.units().size()) {}

}  // namespace onward::net
