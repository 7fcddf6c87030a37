#include "engine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace onward::net {
namespace {

/// Parameters that are converted, and summed, at a time.
constexpr std::size_t block = std::size_t{1} << 15;

LineNorms convert(VectorView theta, VectorView v, std::size_t begin, std::size_t end, float* theta_out,
                  float* v_out) {
  LineNorms norms;
  double largest = 0;
  // Eight sums each, so that additions need not wait for each other.
  std::array<double, 8> tt{}, tv{}, vv{};
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t lane = i % 8;
    const double x = theta[i], d = v.empty() ? 0.0 : v[i];
    theta_out[i] = static_cast<float>(x);
    if (!v.empty()) v_out[i] = static_cast<float>(d);
    tt[lane] += x * x;
    tv[lane] += x * d;
    vv[lane] += d * d;
    largest = std::max(largest, std::abs(x));
  }
  for (std::size_t lane = 0; lane < 8; ++lane) {
    norms.theta_theta += tt[lane];
    norms.theta_v += tv[lane];
    norms.v_v += vv[lane];
  }
  norms.fits = largest <= std::numeric_limits<float>::max() && std::isfinite(norms.theta_theta);
  return norms;
}

}  // namespace

LineNorms& LineNorms::operator+=(const LineNorms& other) {
  theta_theta += other.theta_theta;
  theta_v += other.theta_v;
  v_v += other.v_v;
  fits = fits && other.fits;
  return *this;
}

void InOrder::use(std::size_t item, const std::function<void()>& use) {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return failed_ || next_ == item; });
  if (failed_) return;
  use();
  ++next_;
  turn_.notify_all();
}

void InOrder::fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  turn_.notify_all();
}

template <class Memory>
std::unique_ptr<Memory> Engine::Lender<Memory>::take(const Plan& plan) {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      auto memory = std::move(idle.back());
      idle.pop_back();
      return memory;
    }
  }
  return std::make_unique<Memory>(plan);
}

template <class Memory>
void Engine::Lender<Memory>::give(std::unique_ptr<Memory> memory) {
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(memory));
}

Engine::Engine(std::shared_ptr<const Network> network, std::size_t piece, std::shared_ptr<ThreadPool> pool)
    : network_(std::move(network)),
      piece_(piece),
      pool_(std::move(pool)),
      plan_(*network_, piece),
      theta_floats_(network_->layout.parameter_count()),
      theta_(plan_.make_weights(false)) {}

LineNorms Engine::place(VectorView theta, VectorView v) {
  const std::size_t size = theta_floats_.size();
  if (!v.empty() && !v_) {
    v_ = plan_.make_weights(true);
    v_floats_.resize(size);
  }
  std::vector<LineNorms> norms((size + block - 1) / block);
  pool_->for_each(norms.size(), [&](std::size_t i) {
    norms[i] =
        convert(theta, v, i * block, std::min(size, (i + 1) * block), theta_floats_.data(), v_floats_.data());
  });
  const std::size_t units = plan_.units().size();
  pool_->for_each(v.empty() ? units : 2 * units, [&](std::size_t i) {
    const OneThread one_thread;
    auto memory = piece_memory_.take(plan_);
    if (i < units)
      plan_.pack(i, theta_floats_.data(), theta_, memory->bench);
    else
      plan_.pack(i - units, v_floats_.data(), *v_, memory->bench);
    piece_memory_.give(std::move(memory));
  });
  return tree_sum(std::span<const LineNorms>(norms));
}

std::size_t Engine::rows_of(std::size_t number, std::size_t rows) const {
  return std::min(piece_, rows - number * piece_);
}

/// Kernels for all numbers of rows that will occur.
void Engine::prepare(std::size_t rows, std::size_t order) {
  const std::size_t chunk = plan_.chunk(order), units = plan_.units().size();
  for (const std::size_t in_piece : {std::min(piece_, rows), rows % piece_}) {
    if (in_piece == 0) continue;
    plan_.prepare(plan_.trunk(), units, in_piece, order > 0);
    for (const std::size_t in_chunk : {std::min(chunk, in_piece), in_piece % chunk})
      if (in_chunk > 0) plan_.prepare(0, plan_.trunk(), in_chunk, order > 0);
  }
}

Stack Engine::piece_forward(const Inputs& inputs, std::size_t first, std::size_t rows, std::size_t order,
                            PieceMemory& memory) {
  const Weights* v = order > 0 ? &*v_ : nullptr;
  const std::size_t trunk = plan_.trunk(), units = plan_.units().size();
  memory.head.reserve(rows, order);
  Stack between = memory.head.tensor(trunk);
  if (trunk == 0) {
    inputs.read_channels_last(first, rows, between.data);
  } else {
    const std::size_t chunk = plan_.chunk(order), width = plan_.shape(trunk).size();
    memory.trunk.reserve(std::min(chunk, rows), order);
    for (std::size_t row = 0; row < rows; row += chunk) {
      const std::size_t count = std::min(chunk, rows - row);
      const Stack in = memory.trunk.tensor(0);
      inputs.read_channels_last(first + row, count, in.data);
      const Stack out{between.data + row * width, between.stride, 1};
      between.parts =
          net::forward(plan_, 0, trunk, count, order, theta_, v, memory.trunk, in, out, memory.bench).parts;
    }
  }
  return net::forward(plan_, trunk, units, rows, order, theta_, v, memory.head, between,
                      memory.head.tensor(units), memory.bench);
}

void Engine::forward(const Inputs& inputs, std::size_t order, const UseOutputs& use) {
  prepare(inputs.count(), order);
  pool_->for_each(pieces(inputs.count()), [&](std::size_t i) {
    const OneThread one_thread;
    auto memory = piece_memory_.take(plan_);
    const std::size_t rows = rows_of(i, inputs.count());
    use(i * piece_, rows, piece_forward(inputs, i * piece_, rows, order, *memory));
    piece_memory_.give(std::move(memory));
  });
}

/// Fills the kept tensors, and the last segment.
void Engine::tape_forward(const Inputs& inputs, std::size_t first, std::size_t rows, Tape& tape,
                          BackwardMemory& memory) {
  inputs.read_channels_last(first, rows, tape.tensor(0));
  const auto& kept = tape.kept();
  if (kept.size() > 2) memory.slots.reserve(rows, 0);
  for (std::size_t i = 0; i + 2 < kept.size(); ++i)
    net::forward(plan_, kept[i], kept[i + 1], rows, 0, theta_, nullptr, memory.slots, tape.stack(kept[i]),
                 tape.stack(kept[i + 1]), memory.bench);
  forward_on_tape(plan_, kept[kept.size() - 2], kept.back(), rows, theta_, tape, memory.bench);
}

void Engine::tape_backward(std::size_t first, std::size_t rows, Tape& tape, BackwardMemory& memory,
                           const Loss& loss) {
  const auto& kept = tape.kept();
  memory.gradient.resize(theta_floats_.size());
  const std::size_t outputs = rows * network_->layout.output().size();
  Floats by_outputs = memory.adjoints.take(outputs);
  loss(first, rows, tape.tensor(kept.back()), by_outputs.data());
  memory.adjoints.give(kept.back(), std::move(by_outputs), outputs);
  for (std::size_t i = kept.size() - 1; i-- > 0;) {
    if (i + 2 < kept.size())
      forward_on_tape(plan_, kept[i], kept[i + 1] - 1, rows, theta_, tape, memory.bench);
    backward(plan_, kept[i], kept[i + 1], rows, theta_, *backward_weights_, tape, memory.adjoints,
             memory.gradient.data(), memory.bench);
  }
}

void Engine::gradient(const Inputs& inputs, GradientForm form, const Loss& loss, std::span<double> out) {
  const std::size_t rows = inputs.count(), count = pieces(rows), units = plan_.units().size();
  for (const std::size_t in_piece : {std::min(piece_, rows), rows % piece_})
    if (in_piece > 0) plan_.prepare_backward(in_piece);
  if (!backward_weights_) backward_weights_ = plan_.make_backward_weights();
  pool_->for_each(units, [&](std::size_t i) {
    const OneThread one_thread;
    auto memory = backward_memory_.take(plan_);
    plan_.pack_backward(i, theta_floats_.data(), *backward_weights_, memory->bench);
    backward_memory_.give(std::move(memory));
  });

  const std::vector<std::size_t> kept =
      form == GradientForm::checkpoint ? checkpoints(plan_) : std::vector<std::size_t>{0, units};
  std::vector<std::unique_ptr<Tape>> tapes(count);  // of the form that keeps all
  const auto make_tape = [&](std::size_t i) {
    return std::make_unique<Tape>(plan_, kept, form == GradientForm::whole ? rows_of(i, rows) : piece_);
  };
  if (form == GradientForm::whole)
    pool_->for_each(count, [&](std::size_t i) {
      const OneThread one_thread;
      auto memory = backward_memory_.take(plan_);
      tapes[i] = make_tape(i);
      tape_forward(inputs, i * piece_, rows_of(i, rows), *tapes[i], *memory);
      backward_memory_.give(std::move(memory));
    });

  std::fill(out.begin(), out.end(), 0.0);
  InOrder in_order;
  pool_->for_each(count, [&](std::size_t i) {
    try {
      const OneThread one_thread;
      auto memory = backward_memory_.take(plan_);
      const std::size_t in_piece = rows_of(i, rows);
      if (form != GradientForm::whole) {
        if (!memory->tape || memory->tape->kept() != kept) memory->tape = make_tape(i);
        tape_forward(inputs, i * piece_, in_piece, *memory->tape, *memory);
      }
      tape_backward(i * piece_, in_piece, form == GradientForm::whole ? *tapes[i] : *memory->tape, *memory,
                    loss);
      in_order.use(i, [&] {
        for (std::size_t p = 0; p < memory->gradient.size(); ++p) out[p] += memory->gradient[p];
      });
      backward_memory_.give(std::move(memory));
    } catch (...) {
      in_order.fail();
      throw;
    }
  });
}

std::size_t Engine::forward_bytes(std::size_t order, std::size_t rows) const {
  const std::size_t weights = 2 * theta_floats_.size() * sizeof(float) * (order > 0 ? 2 : 1);
  const std::size_t at_once = std::min(pool_->threads(), pieces(rows)), in_piece = std::min(piece_, rows);
  const PieceMemory memory(plan_);
  return weights + at_once * (memory.trunk.bytes(std::min(plan_.chunk(order), in_piece), order) +
                              memory.head.bytes(in_piece, order));
}

std::size_t Engine::gradient_bytes(GradientForm form, std::size_t rows) const {
  const std::size_t units = plan_.units().size(), parameters = theta_floats_.size() * sizeof(float);
  const std::size_t at_once = std::min(pool_->threads(), pieces(rows)), in_piece = std::min(piece_, rows);
  const auto kept =
      form == GradientForm::checkpoint ? checkpoints(plan_) : std::vector<std::size_t>{0, units};
  std::size_t largest = 0;
  for (std::size_t tensor = 0; tensor <= units; ++tensor)
    largest = std::max(largest, plan_.shape(tensor).size());
  const std::size_t tape_rows = form == GradientForm::whole ? rows : at_once * in_piece;
  const std::size_t slots = form == GradientForm::checkpoint ? Slots(plan_, 0, units).bytes(in_piece, 0) : 0;
  // theta, packed twice; of each thread its gradient and two adjoints.
  return 3 * parameters + tape_rows * tape_floats(plan_, kept) * sizeof(float) +
         at_once * (parameters + 2 * in_piece * largest * sizeof(float) + slots);
}

}  // namespace onward::net
