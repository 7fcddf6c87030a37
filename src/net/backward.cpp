#include "backward.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "layers.hpp"
#include "overloaded.hpp"

namespace onward::net {
namespace {

/// A batch norm with fixed statistics: out = scale (in - mean) / sd + shift.
void backward_frozen_norm(const Plan& plan, std::size_t number, std::size_t rows, const Weights& theta,
                          Tape& tape, Adjoints& adjoints, float* gradient) {
  const Unit& unit = plan.units()[number];
  const std::size_t channels = unit.in.channels, pixels = rows * unit.in.size() / channels;
  const float* in = tape.tensor(number);
  const float* by_out = adjoints.by(number + 1).data();
  const auto& statistics = plan.network().statistics;
  const auto epsilon = static_cast<float>(std::get<BatchNorm>(unit.layer).epsilon);
  std::vector<double> by_scale(channels, 0), by_shift(channels, 0);
  Floats by_in = adjoints.take(pixels * channels);
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t at = i * channels + c;
      by_shift[c] += by_out[at];
      by_scale[c] += by_out[at] * (in[at] - statistics[unit.norm + c]);
      by_in[at] = by_out[at] * theta.others[number][c];
    }
  for (std::size_t c = 0; c < channels; ++c) {
    const float sd = std::sqrt(statistics[unit.norm + channels + c] + epsilon);
    gradient[unit.begin + c] = static_cast<float>(by_scale[c] / sd);
    gradient[unit.begin + channels + c] = static_cast<float>(by_shift[c]);
  }
  adjoints.give(number, std::move(by_in), pixels * channels);
  adjoints.forget(number + 1);
}

/// Arrays begin at cache lines.
std::size_t padded(std::size_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

Tape::Tape(const Plan& plan, std::vector<std::size_t> kept, std::size_t rows) : kept_(std::move(kept)) {
  places_.resize(plan.units().size() + 1);
  std::size_t end = 0;
  const auto place = [&](std::size_t tensor) {
    places_[tensor] = end;
    end += padded(rows * plan.shape(tensor).size());
  };
  for (const std::size_t tensor : kept_) place(tensor);
  const std::size_t between = end;
  std::size_t most = end;
  for (std::size_t i = 0; i + 1 < kept_.size(); ++i) {
    end = between;
    for (std::size_t tensor = kept_[i] + 1; tensor < kept_[i + 1]; ++tensor) place(tensor);
    most = std::max(most, end);
  }
  memory_ = Floats(most);
}

void forward_on_tape(const Plan& plan, std::size_t first, std::size_t end, std::size_t rows,
                     const Weights& theta, Tape& tape, Workbench& bench) {
  for (std::size_t u = first; u < end; ++u) {
    const Unit& unit = plan.units()[u];
    const bool adds = std::holds_alternative<Residual>(unit.layer);
    Stack out = tape.stack(u + 1);
    forward_unit(plan, u, rows, {.theta = &theta}, tape.stack(u), tape.stack(adds ? unit.from : u), out,
                 bench);
  }
}

Floats Adjoints::take(std::size_t size) {
  Floats floats;
  if (!spare_.empty()) {
    floats = std::move(spare_.back());
    spare_.pop_back();
  }
  if (floats.size() < size) floats = Floats(size);
  return floats;
}

void Adjoints::give(std::size_t tensor, Floats derivatives, std::size_t size) {
  auto& known = by_tensor_[tensor];
  if (known.empty()) {
    known = std::move(derivatives);
    return;
  }
  for (std::size_t i = 0; i < size; ++i) known[i] += derivatives[i];
  spare_.push_back(std::move(derivatives));
}

void Adjoints::forget(std::size_t tensor) {
  if (by_tensor_[tensor].empty()) return;
  spare_.push_back(std::move(by_tensor_[tensor]));
  by_tensor_[tensor] = {};
}

void backward_unit(const Plan& plan, std::size_t number, std::size_t rows,
                   const std::vector<PackedWeights>& backward_weights, Tape& tape, Adjoints& adjoints,
                   float* gradient, Workbench& bench) {
  const Unit& unit = plan.units()[number];
  const std::size_t in_size = rows * unit.in.size(), out_size = rows * unit.out.size();
  Floats& by_out = adjoints.by(number + 1);
  const float* in = tape.tensor(number);
  const float* out = tape.tensor(number + 1);
  if (unit.is_product()) {
    const Product& product = plan.product(unit);
    if (unit.relu) activate_backward(ActivationKind::relu, in, out, by_out.data(), by_out.data(), out_size);
    product.backward_weights(rows, in, by_out.data(), gradient + unit.begin,
                             gradient + unit.begin + product.weights(), bench);
    if (number == 0) return adjoints.forget(number + 1);
  }
  Floats by_in = adjoints.take(in_size);
  std::visit(Overloaded{
                 [&](const Activation& layer) {
                   activate_backward(layer.kind, in, out, by_out.data(), by_in.data(), in_size);
                 },
                 [&](const Pool& layer) {
                   pool_backward(layer, unit.in, unit.out, rows, in, by_out.data(), by_in.data());
                 },
                 [&](const Flatten&) { channels_last(unit.in, rows, by_out.data(), by_in.data()); },
                 [&](const Residual&) {
                   Floats added = adjoints.take(in_size);
                   std::copy_n(by_out.begin(), in_size, by_in.begin());
                   std::copy_n(by_out.begin(), in_size, added.begin());
                   adjoints.give(unit.from, std::move(added), in_size);
                 },
                 [](const BatchNorm&) {},  // not here
                 [&](const auto&) {        // a product
                   plan.product(unit).backward_inputs(rows, by_out.data(), backward_weights[unit.product],
                                                      by_in.data(), bench);
                 },
             },
             unit.layer);
  adjoints.give(number, std::move(by_in), in_size);
  adjoints.forget(number + 1);
}

void backward(const Plan& plan, std::size_t first, std::size_t end, std::size_t rows, const Weights& theta,
              const std::vector<PackedWeights>& backward_weights, Tape& tape, Adjoints& adjoints,
              float* gradient, Workbench& bench) {
  for (std::size_t u = end; u-- > first;)
    if (plan.units()[u].is_norm())
      backward_frozen_norm(plan, u, rows, theta, tape, adjoints, gradient);
    else
      backward_unit(plan, u, rows, backward_weights, tape, adjoints, gradient, bench);
  if (first == 0) adjoints.forget(0);
}

std::vector<std::size_t> checkpoints(const Plan& plan) {
  const std::size_t end = plan.units().size();
  // Numbers in tensors before each, for one row.
  std::vector<std::size_t> before{0};
  for (std::size_t tensor = 0; tensor <= end; ++tensor)
    before.push_back(before.back() + plan.shape(tensor).size());
  std::vector<std::size_t> cuts;
  for (std::size_t tensor = 1; tensor < end; ++tensor)
    if (plan.is_cut(tensor)) cuts.push_back(tensor);

  // Segments as long as a limit allows; of all limits the one that needs least memory in the end.
  std::vector<std::size_t> best{0, end};
  std::size_t least = tape_floats(plan, best);
  for (std::size_t limit = 1; limit < before.back(); limit += limit / 8 + 1) {
    std::vector<std::size_t> kept{0};
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const std::size_t next = i + 1 < cuts.size() ? cuts[i + 1] : end;
      if (before[next] - before[kept.back() + 1] > limit) kept.push_back(cuts[i]);
    }
    kept.push_back(end);
    if (const std::size_t floats = tape_floats(plan, kept); floats < least) {
      least = floats;
      best = kept;
    }
  }
  return best;
}

std::size_t tape_floats(const Plan& plan, const std::vector<std::size_t>& kept) {
  std::size_t ends = 0, most = 0;
  for (const std::size_t tensor : kept) ends += plan.shape(tensor).size();
  for (std::size_t i = 0; i + 1 < kept.size(); ++i) {
    std::size_t between = 0;
    for (std::size_t tensor = kept[i] + 1; tensor < kept[i + 1]; ++tensor)
      between += plan.shape(tensor).size();
    most = std::max(most, between);
  }
  return ends + most;
}

}  // namespace onward::net
