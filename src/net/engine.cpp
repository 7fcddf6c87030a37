#include "engine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace onward::net {
namespace {

/// Parameters that are converted, and summed, at a time.
constexpr std::size_t block = std::size_t{1} << 13;

template <bool on_a_line>
LineNorms convert(const double* theta, const double* v, std::size_t count, float* theta_out, float* v_out) {
  // Eight sums each, so that additions need not wait for each other.
  constexpr std::size_t width = 8;
  std::array<double, width> tt{}, tv{}, vv{}, largest{};
  const auto take = [&](std::size_t i, std::size_t lane) {
    const double x = theta[i];
    theta_out[i] = static_cast<float>(x);
    tt[lane] += x * x;
    largest[lane] = std::max(largest[lane], std::abs(x));
    if constexpr (on_a_line) {
      const double d = v[i];
      v_out[i] = static_cast<float>(d);
      tv[lane] += x * d;
      vv[lane] += d * d;
    }
  };
  std::size_t i = 0;
  for (; i + width <= count; i += width)
    for (std::size_t lane = 0; lane < width; ++lane) take(i + lane, lane);
  for (; i < count; ++i) take(i, i % width);
  LineNorms norms;
  for (std::size_t lane = 0; lane < width; ++lane) {
    norms.theta_theta += tt[lane];
    norms.theta_v += tv[lane];
    norms.v_v += vv[lane];
  }
  norms.fits = *std::max_element(largest.begin(), largest.end()) <= std::numeric_limits<float>::max() &&
               std::isfinite(norms.theta_theta);
  return norms;
}

/// Enough rows for efficient products, yet some pieces for threads to share. It depends on the data and the
/// network alone, never on the threads: pieces decide the bits.
std::size_t choose_piece(const Layout& layout, std::size_t rows, std::size_t most_images) {
  const bool images = layout.input().height * layout.input().width > 1;
  const std::size_t most = images ? most_images : 256;
  constexpr double least_work = 8e6;  // floating-point operations: some 50 microseconds
  const auto least = static_cast<std::size_t>(std::ceil(least_work / std::max(1.0, layout.flops_per_row())));
  const std::size_t quarter = (rows + 3) / 4;
  return std::clamp(std::clamp(quarter, std::min(least, most), most), std::size_t{1}, rows);
}

/// Of a narrow network: whole chunks, with some 10 microseconds of work.
std::size_t choose_narrow_piece(const Layout& layout, std::size_t rows) {
  constexpr double least_work = 2e6;
  const auto chunk = static_cast<double>(NarrowNetwork::chunk());
  const double chunks = std::ceil(least_work / (chunk * std::max(1.0, layout.flops_per_row())));
  return std::min(rows, static_cast<std::size_t>(chunks * chunk));
}

}  // namespace

LineNorms& LineNorms::operator+=(const LineNorms& other) {
  theta_theta += other.theta_theta;
  theta_v += other.theta_v;
  v_v += other.v_v;
  fits = fits && other.fits;
  return *this;
}

Engine::Engine(std::shared_ptr<const Network> network, Inputs inputs, const PosteriorOptions& options,
               std::shared_ptr<ThreadPool> pool)
    : network_(std::move(network)),
      inputs_(std::move(inputs)),
      kept_bytes_(options.kept_activations_bytes),
      known_bytes_(std::max(options.known_values_bytes, options.kept_activations_bytes)),
      piece_(options.piece > 0 ? options.piece : choose_piece(network_->layout, inputs_.count(), 128)),
      // A gradient keeps activations of a whole piece, jets those of a few rows.
      gradient_piece_(options.piece > 0 ? options.piece
                                        : choose_piece(network_->layout, inputs_.count(), 64)),
      pool_(std::move(pool)),
      plan_(*network_, piece_),
      parameters_(network_->layout.parameter_count()),
      moves_(plan_.units().size()) {
  if (!NarrowNetwork::takes(network_->layout)) return;
  narrow_.emplace(plan_);
  if (options.piece == 0) piece_ = choose_narrow_piece(network_->layout, inputs_.count());
}

/// As floats, and their sums.
LineNorms Engine::take(const VectorSource& theta, const VectorSource* v, Floats& v_floats) {
  const std::size_t size = parameters_;
  theta_floats_.resize(size);
  if (v) v_floats.resize(size);
  std::vector<LineNorms> norms((size + block - 1) / block);
  pool_->for_each(norms.size(), [&](std::size_t i) {
    std::array<double, block> place, direction;
    const std::size_t at = i * block, count = std::min(block, size - at);
    const double* x = theta.read(at, std::span(place).first(count)).data();
    float* out = theta_floats_.data() + at;
    norms[i] = v ? convert<true>(x, v->read(at, std::span(direction).first(count)).data(), count, out,
                                 v_floats.data() + at)
                 : convert<false>(x, nullptr, count, out, nullptr);
  });
  return tree_sum(std::span<const LineNorms>(norms));
}

LineNorms Engine::place(const VectorSource& theta, const VectorSource* v, Next next, const Where& where) {
  const LineNorms norms = take(theta, v, v_floats_);
  start_ = store_ = 0;
  at_hand_ = nullptr;
  if (narrow_ && next != Next::gradient) {
    if (next == Next::forward && v) find_known(where);
  } else {
    if (next == Next::forward && kept_bytes_ > 0) choose_kept(v, where);
    pack(v ? 1 : 0);
  }
  return norms;
}

std::array<LineNorms, 2> Engine::place_two(const VectorSource& theta, const VectorSource& v,
                                           const VectorSource& w) {
  const std::array norms{take(theta, &v, v_floats_), take(theta, &w, w_floats_)};
  start_ = store_ = 0;
  pack(2);
  return norms;
}

/// Brings theta, and so many directions, into the order that products want.
void Engine::pack(std::size_t directions) {
  if (theta_.packed.empty()) theta_ = plan_.make_weights(false);
  if (directions > 0 && !v_) v_ = plan_.make_weights(true);
  if (directions > 1 && !w_) w_ = plan_.make_weights(true);
  const std::size_t units = plan_.units().size() - start_;
  pool_->for_each((directions + 1) * units, [&](std::size_t i) {
    const OneThread one_thread;
    auto memory = piece_memory_.take(plan_);
    const std::size_t unit = start_ + i % units;
    if (i < units)
      plan_.pack(unit, theta_floats_.data(), theta_, memory->bench);
    else if (i < 2 * units)
      plan_.pack(unit, v_floats_.data(), *v_, memory->bench);
    else
      plan_.pack(unit, w_floats_.data(), *w_, memory->bench);
    piece_memory_.give(std::move(memory));
  });
}

Wanted Engine::wanted(std::size_t order) const {
  return {.theta = &theta_, .order = order, .v = order > 0 ? &*v_ : nullptr};
}

/// Of a narrow network, what the values of all units at one place take; 0 if they are not kept.
std::size_t Engine::known_floats() const {
  const std::size_t floats = narrow_->kept_size(piece_) * pieces(inputs_.count(), piece_);
  return narrow_->keeps_values() && 2 * floats * sizeof(float) <= known_bytes_ ? floats : 0;
}

/// Which units the direction moves; the first of them.
std::size_t Engine::mark_moving(const Where& where) {
  const auto& units = plan_.units();
  const std::size_t end = where.support.first + where.support.count;
  for (std::size_t u = 0; u < units.size(); ++u)
    moves_[u] = where.support.count > 0
                    ? std::max(units[u].begin, where.support.first) < std::min(units[u].end, end)
                    : std::any_of(v_floats_.begin() + static_cast<std::ptrdiff_t>(units[u].begin),
                                  v_floats_.begin() + static_cast<std::ptrdiff_t>(units[u].end),
                                  [](float x) { return x != 0; });
  return static_cast<std::size_t>(std::find(moves_.begin(), moves_.end(), 1) - moves_.begin());
}

/// Finds the place whose first units have the values that they have here, and chooses where the values of all
/// units are to be kept. On a line it is the line's start; elsewhere the two known places are compared.
void Engine::find_known(const Where& where) {
  known_units_ = 0;
  before_ = nullptr;
  const std::size_t still = mark_moving(where), kept = known_floats(), all = plan_.units().size();
  if (kept == 0) return;
  if (where.on_line && line_start_ && line_start_->filled) {
    before_ = line_start_;
    known_units_ = still;
  } else {
    before_ = most_alike();
  }
  if (known_units_ == all) {
    at_hand_ = before_;
  } else {
    at_hand_ = before_ == &known_[0] ? &known_[1] : &known_[0];
    at_hand_->filled = false;
    at_hand_->theta.resize(parameters_);
    at_hand_->values.resize(kept);
  }
  latest_ = static_cast<std::size_t>(at_hand_ - known_.data());
}

/// Of the places that are known the one that shares most units with this one, from the first on.
KnownValues* Engine::most_alike() {
  const auto& units = plan_.units();
  KnownValues* best = nullptr;
  for (KnownValues* known : {&known_[latest_], &known_[1 - latest_]}) {
    if (!known->filled) continue;
    const auto is_same = [&](const Unit& unit) {
      return std::memcmp(theta_floats_.data() + unit.begin, known->theta.data() + unit.begin,
                         (unit.end - unit.begin) * sizeof(float)) == 0;
    };
    std::size_t same = 0;
    while (same < units.size() && is_same(units[same])) ++same;
    if (best && same <= known_units_) continue;
    known_units_ = same;
    best = known;
  }
  return best;
}

/// Where to start, and what to keep for the next evaluation on this line.
void Engine::choose_kept(bool has_direction, const Where& where) {
  const auto& units = plan_.units();
  // The line leaves all tensors alone up to this one.
  const std::size_t still = has_direction ? mark_moving(where) : units.size();
  if (!where.on_line)
    kept_holds_ =
        kept_.tensor > 0 && std::equal(kept_.theta.begin(), kept_.theta.end(), theta_floats_.begin());
  if (kept_holds_ && kept_.tensor <= still) start_ = kept_.tensor;
  if (!has_direction || still == units.size()) return;

  std::size_t wanted = 0;
  for (std::size_t tensor = 1; tensor <= still; ++tensor)
    if (plan_.is_cut(tensor) && plan_.shape(tensor).size() * inputs_.count() * sizeof(float) <= kept_bytes_)
      wanted = tensor;
  if (wanted <= start_) return;
  // What would be saved besides must be worth it: lines within the last two layers, say, taking turns, are
  // better off with what lies before both.
  constexpr double worth_it = 0.1;
  if (start_ > 0 && plan_.flops(start_, wanted) < worth_it * plan_.flops(0, units.size())) return;
  start_ = 0;
  store_ = wanted;
}

/// Kernels for all numbers of rows that will occur.
void Engine::prepare(std::size_t rows, std::size_t order) {
  const std::size_t chunk = plan_.chunk(), units = plan_.units().size();
  for (const std::size_t in_piece : {std::min(piece_, rows), rows % piece_}) {
    if (in_piece == 0) continue;
    plan_.prepare(plan_.trunk(), units, in_piece, order > 0);
    for (const std::size_t in_chunk : {std::min(chunk, in_piece), in_piece % chunk})
      if (in_chunk > 0) plan_.prepare(0, plan_.trunk(), in_chunk, order > 0);
  }
}

Stack Engine::kept_rows(std::size_t first) {
  return {kept_.rows.data() + first * plan_.shape(kept_.tensor).size(), 0, 1};
}

/// From tensor `start`, which is the input or kept; tensor `store`, unless 0, is kept on the way.
Stack Engine::piece_forward(const Inputs& inputs, std::size_t first, std::size_t rows, const Wanted& wanted,
                            std::size_t start, std::size_t store, PieceMemory& memory) {
  const std::size_t trunk = plan_.trunk(), units = plan_.units().size();
  const auto run = [&](std::size_t from, std::size_t to, std::size_t count, Slots& slots, const Stack& in,
                       const Stack& out) {
    return net::forward(plan_, from, to, count, wanted, slots, in, out, memory.bench);
  };
  // Units [from, to), and what is kept in between. `row` is the first row's number.
  const auto run_and_keep = [&](std::size_t from, std::size_t to, std::size_t row, std::size_t count,
                                Slots& slots, const Stack& in, const Stack& out) {
    if (store <= from || store > to) return run(from, to, count, slots, in, out);
    const Stack kept = run(from, store, count, slots, in, kept_rows(row));
    return run(store, to, count, slots, kept, out);
  };

  memory.head.reserve(rows, wanted.parts());
  Stack between = memory.head.tensor(trunk);
  if (start >= trunk) {
    between = start > 0 ? kept_rows(first) : between;
    if (start == 0) inputs.read_channels_last(first, rows, between.data);
  } else {
    const std::size_t chunk = plan_.chunk(), width = plan_.shape(trunk).size();
    memory.trunk.reserve(std::min(chunk, rows), wanted.parts());
    for (std::size_t row = 0; row < rows; row += chunk) {
      const std::size_t count = std::min(chunk, rows - row);
      const Stack in = start > 0 ? kept_rows(first + row) : memory.trunk.tensor(0);
      if (start == 0) inputs.read_channels_last(first + row, count, in.data);
      const Stack out{between.data + row * width, between.stride, 1};
      between.parts = run_and_keep(start, trunk, first + row, count, memory.trunk, in, out).parts;
    }
  }
  return run_and_keep(std::max(start, trunk), units, first, rows, memory.head, between,
                      memory.head.tensor(units));
}

void Engine::for_pieces(const Inputs& inputs, const Wanted& wanted, std::size_t start, std::size_t store,
                        const UseOutputs& use) {
  prepare(inputs.count(), wanted.order);
  pool_->for_each(pieces(inputs.count(), piece_), [&](std::size_t i) {
    const OneThread one_thread;
    auto memory = piece_memory_.take(plan_);
    const std::size_t rows = rows_of(i, piece_, inputs.count());
    use(i * piece_, rows, piece_forward(inputs, i * piece_, rows, wanted, start, store, *memory));
    piece_memory_.give(std::move(memory));
  });
}

void Engine::for_narrow_pieces(const Inputs& inputs, std::size_t order, KnownValues* known,
                               const UseOutputs& use) {
  const NarrowNetwork::Line line{theta_floats_.data(), order > 0 ? v_floats_.data() : nullptr, moves_};
  pool_->for_each(pieces(inputs.count(), piece_), [&](std::size_t i) {
    auto memory = narrow_memory_.take(plan_);
    const std::size_t rows = rows_of(i, piece_, inputs.count());
    NarrowNetwork::Values values;
    if (known) {
      const std::size_t at = i * narrow_->kept_size(piece_);
      const float* before = before_ ? before_->values.data() + at : nullptr;
      values = {known->values.data() + at, before, known_units_};
    }
    use(i * piece_, rows, narrow_->forward(inputs, i * piece_, rows, order, line, values, *memory));
    narrow_memory_.give(std::move(memory));
  });
}

void Engine::forward(std::size_t order, const UseOutputs& use) {
  if (narrow_) {
    for_narrow_pieces(inputs_, order, at_hand_, use);
    if (at_hand_ && known_units_ < plan_.units().size()) {
      std::swap(at_hand_->theta, theta_floats_);  // the next place is written over the other
      at_hand_->filled = true;
    }
    return;
  }
  if (store_ == 0) {
    if (start_ > 0) ++kept_report_.reused;
    return for_pieces(inputs_, wanted(order), start_, 0, use);
  }
  ++kept_report_.stored;
  kept_holds_ = false;
  const std::size_t size = plan_.shape(store_).size() * inputs_.count();
  kept_.tensor = 0;
  if (kept_.rows.size() != size) {
    kept_.rows = {};
    kept_.rows.resize(size);
  }
  kept_.tensor = store_;
  try {
    for_pieces(inputs_, wanted(order), start_, store_, use);
  } catch (...) {
    kept_.tensor = 0;
    throw;
  }
  const std::size_t before = store_ < plan_.units().size() ? plan_.units()[store_].begin : parameters_;
  kept_.theta.assign(theta_floats_.begin(), theta_floats_.begin() + static_cast<std::ptrdiff_t>(before));
  kept_holds_ = true;
}

void Engine::forward_two(const UseOutputs& use) {
  for_pieces(inputs_, {.theta = &theta_, .order = 1, .v = &*v_, .w = &*w_}, 0, 0, use);
}

void Engine::predict(const Inputs& inputs, const UseOutputs& use) {
  if (narrow_)
    for_narrow_pieces(inputs, 0, nullptr, use);
  else
    for_pieces(inputs, wanted(0), 0, 0, use);
}

std::size_t Engine::forward_bytes(std::size_t order) const {
  const std::size_t rows = inputs_.count(), count = pieces(rows, piece_);
  const bool two = order == 1 && price_of_two() < 2;  // line kernels may ask for that instead
  const std::size_t places = two         ? 3
                             : order > 0 ? 2
                                         : 1,
                    vectors = places * parameters_ * sizeof(float),
                    weights = vectors + places * plan_.packed_bytes(), parts = two ? 3 : order + 1;
  const std::size_t at_once = std::min(pool_->threads(), count), in_piece = std::min(piece_, rows);
  if (narrow_) {
    const std::size_t known = order > 0 ? known_floats() : 0;
    return vectors + at_once * narrow_->bytes(in_piece, order) +
           (known > 0 ? 2 * (known + parameters_) * sizeof(float) : 0);
  }
  const PieceMemory memory(plan_);
  return weights + at_once * (memory.trunk.bytes(std::min(plan_.chunk(), in_piece), parts) +
                              memory.head.bytes(in_piece, parts));
}

}  // namespace onward::net
