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

/// z = hW + b and, with Taylor coefficients h1 and h2, z1 = h1 W + h V + c, z2 = h2 W + h1 V.
void forward_product(const Plan& plan, const Unit& unit, std::size_t number, std::size_t rows,
                     std::size_t order, const Weights& theta, const Weights* v, const Stack& in, Stack& out,
                     Workbench& bench) {
  const Product& product = plan.product(unit);
  const auto& w = theta.packed[unit.product];
  const float* bias = theta.others[number].data();
  const bool moves = v && v->moves[number];
  out.parts = moves ? std::min(in.parts + 1, order + 1) : in.parts;
  product.forward(Product::Use::value, rows, in.part(0), w, bias, out.part(0), bench);
  for (std::size_t j = 1; j < out.parts; ++j) {
    if (moves)
      product.forward(j == 1 ? Product::Use::tangent : Product::Use::plain, rows, in.part(j - 1),
                      v->packed[unit.product], v->others[number].data(), out.part(j), bench);
    if (j < in.parts)
      product.forward(moves ? Product::Use::sum : Product::Use::plain, rows, in.part(j), w, nullptr,
                      out.part(j), bench);
  }
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

void Slots::reserve(std::size_t rows, std::size_t order) {
  constexpr std::size_t line = 16;  // floats in a cache line
  part_ = (rows * largest_ + line - 1) / line * line;
  slot_size_ = part_ * (order + 1);
  if (memory_.size() < count_ * slot_size_) memory_ = Floats(count_ * slot_size_);
}

std::size_t Slots::bytes(std::size_t rows, std::size_t order) const {
  return count_ * rows * largest_ * (order + 1) * sizeof(float);
}

Stack Slots::tensor(std::size_t number) {
  return {memory_.data() + slot_[number - first_] * slot_size_, part_, 1};
}

void forward_unit(const Plan& plan, std::size_t number, std::size_t rows, std::size_t order,
                  const Weights& theta, const Weights* v, const Stack& in, const Stack& added, Stack& out,
                  Workbench& bench) {
  const Unit& unit = plan.units()[number];
  const std::size_t n = rows * unit.out.size();
  std::visit(Overloaded{
                 [&](const Activation& layer) { activate(layer.kind, in, out, n, order); },
                 [&](const Pool& layer) { pool(layer, unit.in, unit.out, rows, unit.masks, in, out); },
                 [&](const Flatten&) {
                   out.parts = in.parts;
                   for (std::size_t j = 0; j < in.parts; ++j)
                     channels_first(unit.in, rows, in.part(j), out.part(j));
                 },
                 [&](const BatchNorm&) {
                   const float* moves = v && v->moves[number] ? v->others[number].data() : nullptr;
                   scale_channels(unit.in.channels, n / unit.in.channels, theta.others[number].data(), moves,
                                  in, out, order);
                 },
                 [&](const Residual&) { add(in, added, out, n); },
                 [&](const auto&) {  // a product
                   forward_product(plan, unit, number, rows, order, theta, v, in, out, bench);
                 },
             },
             unit.layer);
}

Stack forward(const Plan& plan, std::size_t first, std::size_t end, std::size_t rows, std::size_t order,
              const Weights& theta, const Weights* v, Slots& slots, const Stack& in, Stack out,
              Workbench& bench) {
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
    forward_unit(plan, u, rows, order, theta, v, tensors.back(), tensors[from - first], made, bench);
    tensors.push_back(made);
  }
  return tensors.back();
}

PieceMemory::PieceMemory(const Plan& plan)
    : trunk(plan, 0, plan.trunk()), head(plan, plan.trunk(), plan.units().size()) {}

}  // namespace onward::net
