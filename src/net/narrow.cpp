#include "narrow.hpp"

#include <algorithm>
#include <utility>

#include "layers.hpp"
#include "onward/simd/batch.hpp"

namespace onward::net {
namespace {

using Lanes = simd::Batch<float>;
constexpr std::size_t lanes = simd::lanes_v<Lanes>;

// Wider layers' weights leave the second-level cache, and a library that packs them is faster.
constexpr std::size_t too_wide = 257;

// A tile of outputs x registers of rows is summed in registers: 24 of the 32 that AVX-512 has, 12 of 16.
constexpr std::size_t tile_outputs = lanes == 16 ? 12 : 6, tile_registers = 2;

std::size_t pad(std::size_t rows) { return (rows + lanes - 1) / lanes * lanes; }

/// weights[o][i] times in[i].
struct Factor {
  const float* weights;
  const float* in;
};

/// What happens to a sum before it is stored.
enum class After { nothing, relu, mask };

struct Task {
  std::size_t inputs, padded;
  const float* bias;   ///< or null
  const float* value;  ///< for a mask: slopes stay where it is above 0
  After after;
};

/// `outputs` outputs of `registers` registers of rows.
template <std::size_t outputs, std::size_t registers, std::size_t factors>
void tile(const Task& task, const std::array<Factor, 2>& factor, std::size_t first, std::size_t row,
          float* out) {
  std::array<std::array<Lanes, registers>, outputs> sums;
  for (std::size_t o = 0; o < outputs; ++o) sums[o].fill(Lanes(task.bias ? task.bias[first + o] : 0.0f));
  for (std::size_t k = 0; k < factors; ++k) {
    const float* weights = factor[k].weights + first * task.inputs;
    const float* in = factor[k].in + row;
    for (std::size_t i = 0; i < task.inputs; ++i, in += task.padded) {
      std::array<Lanes, registers> x;
      for (std::size_t r = 0; r < registers; ++r) x[r] = Lanes::load_aligned(in + r * lanes);
      for (std::size_t o = 0; o < outputs; ++o) {
        const Lanes weight(weights[o * task.inputs + i]);
        for (std::size_t r = 0; r < registers; ++r) sums[o][r] = simd::mul_add(weight, x[r], sums[o][r]);
      }
    }
  }
  const Lanes zero(0.0f);
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t r = 0; r < registers; ++r) {
      const std::size_t at = (first + o) * task.padded + row + r * lanes;
      Lanes sum = sums[o][r];
      if (task.after == After::relu) sum = simd::select(sum < zero, zero, sum);  // NaN stays
      if (task.after == After::mask)
        sum = simd::select(Lanes::load_aligned(task.value + at) > zero, sum, zero);
      sum.store_aligned(out + at);
    }
}

/// All outputs of some rows.
template <std::size_t registers, std::size_t factors>
void column(const Task& task, const std::array<Factor, 2>& factor, std::size_t outputs, std::size_t row,
            float* out) {
  std::size_t first = 0;
  for (; first + tile_outputs <= outputs; first += tile_outputs)
    tile<tile_outputs, registers, factors>(task, factor, first, row, out);
  const auto rest = [&]<std::size_t... n>(std::index_sequence<n...>) {
    ((outputs - first == n + 1 ? tile<n + 1, registers, factors>(task, factor, first, row, out) : void()),
     ...);
  };
  rest(std::make_index_sequence<tile_outputs - 1>{});
}

template <std::size_t factors>
void product(const Task& task, const std::array<Factor, 2>& factor, std::size_t outputs, float* out) {
  std::size_t row = 0;
  for (; row + tile_registers * lanes <= task.padded; row += tile_registers * lanes)
    column<tile_registers, factors>(task, factor, outputs, row, out);
  for (; row < task.padded; row += lanes) column<1, factors>(task, factor, outputs, row, out);
}

}  // namespace

bool NarrowNetwork::takes(const Layout& layout) {
  const auto narrow = [](const Shape& shape) {
    return shape.height * shape.width == 1 && shape.channels < too_wide;
  };
  return narrow(layout.input()) &&
         std::all_of(layout.steps().begin(), layout.steps().end(), [&](const Layout::Step& step) {
           return narrow(step.out) && (std::holds_alternative<Linear>(step.layer) ||
                                       std::holds_alternative<Activation>(step.layer) ||
                                       std::holds_alternative<Flatten>(step.layer));
         });
}

std::size_t NarrowNetwork::chunk() { return tile_registers * lanes; }

NarrowNetwork::NarrowNetwork(const Plan& plan)
    : plan_(&plan), widest_(plan.shape(0).size()), outputs_(plan.network().layout.output().size()) {
  for (const Unit& unit : plan.units()) {
    widest_ = std::max(widest_, unit.out.size());
    kept_per_row_ += unit.out.size();
    // A curved activation needs what went in and gives what comes out: too much to keep for what it saves.
    if (!unit.is_product()) keeps_values_ = false;
  }
}

std::size_t NarrowNetwork::kept_size(std::size_t rows) const { return pad(rows) * kept_per_row_; }

void NarrowNetwork::forward_linear(const Unit& unit, std::size_t number, std::size_t padded,
                                   std::size_t order, const Line& line, bool value_known, const Tensor& in,
                                   Tensor& out) const {
  const std::size_t inputs = unit.in.size(), outputs = unit.out.size();
  const bool has_bias = unit.end - unit.begin > inputs * outputs;
  const float* w = line.theta + unit.begin;
  const bool moves = line.v && line.moves[number];
  const float* v = moves ? line.v + unit.begin : nullptr;
  out.parts = moves ? std::min(in.parts + 1, order + 1) : in.parts;

  Task task{inputs, padded, has_bias ? w + inputs * outputs : nullptr, out.part[0],
            unit.relu ? After::relu : After::nothing};
  if (!value_known) product<1>(task, {{{w, in.part[0]}, {}}}, outputs, out.part[0]);
  task.after = unit.relu ? After::mask : After::nothing;
  for (std::size_t j = 1; j < out.parts; ++j) {
    task.bias = j == 1 && moves && has_bias ? v + inputs * outputs : nullptr;
    if (moves && j < in.parts)
      product<2>(task, {{{w, in.part[j]}, {v, in.part[j - 1]}}}, outputs, out.part[j]);
    else
      product<1>(task, {{moves ? Factor{v, in.part[j - 1]} : Factor{w, in.part[j]}, {}}}, outputs,
                 out.part[j]);
  }
}

Stack NarrowNetwork::forward(const Inputs& inputs, std::size_t first, std::size_t rows, std::size_t order,
                             const Line& line, const Values& values, Memory& memory) const {
  const std::size_t most = pad(std::min(chunk(), rows)), part = most * widest_, wide = plan_->shape(0).size();
  for (Floats& tensor : memory.tensors)
    if (tensor.size() < part * (order + 1)) tensor = Floats(part * (order + 1));
  if (memory.rows.size() < chunk() * wide) memory.rows.resize(chunk() * wide);
  if (memory.outputs.size() < rows * outputs_ * (order + 1))
    memory.outputs.resize(rows * outputs_ * (order + 1));
  Stack result{memory.outputs.data(), rows * outputs_, 1};

  for (std::size_t row = 0; row < rows; row += chunk()) {
    const std::size_t count = std::min(chunk(), rows - row), padded = pad(count);
    const auto tensor = [&](std::size_t number) {
      Tensor made;
      for (std::size_t j = 0; j <= order; ++j) made.part[j] = memory.tensors[number % 2].data() + j * part;
      return made;
    };
    Tensor in = tensor(0);
    inputs.read_channels_last(first + row, count, memory.rows.data());
    for (std::size_t i = 0; i < wide; ++i) {
      for (std::size_t r = 0; r < count; ++r) in.part[0][i * padded + r] = memory.rows[r * wide + i];
      std::fill_n(in.part[0] + i * padded + count, padded - count, 0.0f);
    }

    float* kept = values.kept ? values.kept + row * kept_per_row_ : nullptr;
    if (values.known_units > 0 && values.known_units < plan_->units().size()) {
      std::size_t known = 0;
      for (std::size_t u = 0; u < values.known_units; ++u) known += plan_->units()[u].out.size();
      std::copy_n(values.before + row * kept_per_row_, padded * known, kept);
    }
    for (std::size_t u = 0; u < plan_->units().size(); ++u) {
      const Unit& unit = plan_->units()[u];
      Tensor out = tensor(u + 1);
      if (kept) out.part[0] = kept;
      if (const auto* activation = std::get_if<Activation>(&unit.layer)) {
        Stack to{out.part[0], part, 1};
        activate(activation->kind, {in.part[0], part, in.parts}, to, padded * unit.out.size(), order);
        out.parts = to.parts;
      } else {
        forward_linear(unit, u, padded, order, line, u < values.known_units, in, out);
      }
      if (kept) kept += padded * unit.out.size();
      in = out;
    }

    result.parts = in.parts;
    for (std::size_t j = 0; j < in.parts; ++j)
      for (std::size_t r = 0; r < count; ++r)
        for (std::size_t o = 0; o < outputs_; ++o)
          result.part(j)[(row + r) * outputs_ + o] = in.part[j][o * padded + r];
  }
  return result;
}

std::size_t NarrowNetwork::bytes(std::size_t rows, std::size_t order) const {
  const std::size_t at_once = pad(std::min(chunk(), rows));
  return (at_once * (2 * widest_ * (order + 1) + plan_->shape(0).size()) + rows * outputs_ * (order + 1)) *
         sizeof(float);
}

}  // namespace onward::net
