// Gradients of a network: forward with what the way back needs, piece by piece, and back.

#include <algorithm>

#include "engine.hpp"
#include "in_order.hpp"

namespace onward::net {

/// Leaves the kept tensors and the last segment.
void Engine::tape_forward(std::size_t first, std::size_t rows, Tape& tape, BackwardMemory& memory) {
  inputs_.read_channels_last(first, rows, tape.tensor(0));
  forward_on_tape(plan_, 0, plan_.units().size(), rows, theta_, tape, memory.bench);
}

void Engine::tape_backward(std::size_t first, std::size_t rows, Tape& tape, BackwardMemory& memory,
                           const Loss& loss) {
  const auto& kept = tape.kept();
  memory.gradient.resize(parameters_);
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

void Engine::gradient(GradientForm form, const Loss& loss, std::span<double> out) {
  const std::size_t rows = inputs_.count(), piece = gradient_piece_, count = pieces(rows, piece),
                    units = plan_.units().size();
  for (const std::size_t in_piece : {std::min(piece, rows), rows % piece})
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
    return std::make_unique<Tape>(plan_, kept, form == GradientForm::whole ? rows_of(i, piece, rows) : piece);
  };
  if (form == GradientForm::whole)
    pool_->for_each(count, [&](std::size_t i) {
      const OneThread one_thread;
      auto memory = backward_memory_.take(plan_);
      tapes[i] = make_tape(i);
      tape_forward(i * piece, rows_of(i, piece, rows), *tapes[i], *memory);
      backward_memory_.give(std::move(memory));
    });

  std::fill(out.begin(), out.end(), 0.0);
  InOrder in_order;
  pool_->for_each(count, [&](std::size_t i) {
    try {
      const OneThread one_thread;
      auto memory = backward_memory_.take(plan_);
      const std::size_t in_piece = rows_of(i, piece, rows);
      if (form != GradientForm::whole) {
        if (!memory->tape || memory->tape->kept() != kept) memory->tape = make_tape(i);
        tape_forward(i * piece, in_piece, *memory->tape, *memory);
      }
      tape_backward(i * piece, in_piece, form == GradientForm::whole ? *tapes[i] : *memory->tape, *memory,
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

std::size_t Engine::gradient_bytes(GradientForm form) const {
  const std::size_t rows = inputs_.count();
  const std::size_t units = plan_.units().size(), parameters = parameters_ * sizeof(float);
  const std::size_t at_once = std::min(pool_->threads(), pieces(rows, gradient_piece_)),
                    in_piece = std::min(gradient_piece_, rows);
  const auto kept =
      form == GradientForm::checkpoint ? checkpoints(plan_) : std::vector<std::size_t>{0, units};
  std::size_t largest = 0;
  for (std::size_t tensor = 0; tensor <= units; ++tensor)
    largest = std::max(largest, plan_.shape(tensor).size());
  const std::size_t tape_rows = form == GradientForm::whole ? rows : at_once * in_piece;
  // theta, packed for both ways; of each thread its gradient and two adjoints.
  return parameters + 2 * plan_.packed_bytes() + tape_rows * tape_floats(plan_, kept) * sizeof(float) +
         at_once * (parameters + 2 * in_piece * largest * sizeof(float));
}

}  // namespace onward::net
