#pragma once
// The reaction-diffusion equation of examples/reaction_diffusion.hpp backwards: an adjoint by hand, which is
// the best that reverse mode can do here. Its states come from a trajectory that is kept as a whole, or from
// snapshots.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "checkpointing.hpp"
#include "examples/reaction_diffusion.hpp"

namespace onward::bench {

/// The log likelihood -½|y - F(d)|² and its gradient.
class ReactionAdjoint {
 public:
  ReactionAdjoint(const Square& square, std::vector<double> data)
      : square_(square), data_(std::move(data)), residuals_(data_.size()) {}

  /// Every state is kept: steps + 1 squares.
  double by_trajectory(std::span<const double> d, std::span<double> out) {
    begin(d);
    std::vector<Field<double>> states(square_.steps + 1, Field<double>(square_));
    states[0] = start();
    for (std::size_t n = 0; n < square_.steps; ++n) {
      ::advance(square_, *passages_, states[n], states[n + 1]);
      observe(n + 1, states[n + 1]);
    }
    for (std::size_t n = square_.steps; n-- > 0;) reverse(n, states[n]);
    return finish(out);
  }

  /// So many states are kept at a time, and the others made again.
  double by_snapshots(std::span<const double> d, std::span<double> out, std::size_t snapshots) {
    begin(d);
    kept_.assign(snapshots, Field<double>(square_));
    kept_[0] = start();
    state_ = kept_[0];
    next_ = kept_[0];
    advances_ = 0;
    reverse_steps(*this, 0, square_.steps, 0, snapshots);
    return finish(out);
  }
  std::size_t advances() const { return advances_; }

  // What reverse_steps() asks.
  void load(std::size_t k) { state_ = kept_[k]; }
  void store(std::size_t k) { kept_[k] = state_; }
  void advance(std::size_t n) {
    ++advances_;
    ::advance(square_, *passages_, state_, next_);
    std::swap(state_.numbers, next_.numbers);
    if (n + 1 > seen_) observe(n + 1, state_);
  }
  void reverse(std::size_t n) {
    if (n + 1 > seen_) {  // the last step: what it leads to has not been seen
      ::advance(square_, *passages_, state_, next_);
      observe(n + 1, next_);
    }
    reverse(n, state_);
  }

 private:
  Field<double> start() const {
    Field<double> u(square_);
    for (std::size_t i = 0; i < square_.cells(); ++i) u.cells()[i] = square_.start(i);
    return u;
  }

  void begin(std::span<const double> d) {
    passages_.emplace(square_, d);
    by_state_ = by_next_ = by_right_ = by_down_ = Field<double>(square_);
    seen_ = 0;
    value_ = 0;
  }

  /// Residuals, as soon as they can be had.
  void observe(std::size_t n, const Field<double>& u) {
    seen_ = n;
    const std::size_t between = square_.steps / square_.times;
    if (n % between != 0) return;
    const std::size_t sensors = square_.sensors * square_.sensors, first = (n / between - 1) * sensors;
    for (std::size_t k = 0; k < sensors; ++k) {
      residuals_[first + k] = data_[first + k] - u.cells()[square_.sensor(k)];
      value_ -= 0.5 * residuals_[first + k] * residuals_[first + k];
    }
  }

  /// From the adjoint of the state after step n to that before it; u is the state before.
  void reverse(std::size_t n, const Field<double>& before) {
    const std::size_t between = square_.steps / square_.times;
    if ((n + 1) % between == 0) {
      const std::size_t sensors = square_.sensors * square_.sensors,
                        first = ((n + 1) / between - 1) * sensors;
      for (std::size_t k = 0; k < sensors; ++k) by_state_.cells()[square_.sensor(k)] += residuals_[first + k];
    }
    const std::size_t side = square_.side, cells = square_.cells();
    const double growth = square_.growth * square_.step();
    const double *u = before.cells(), *after = by_state_.cells(), *above = after - side;
    const double *right = passages_->right.cells(), *down = passages_->down.cells();
    const double* passage_above = down - side;
    double* __restrict by_u = by_next_.cells();
    double* __restrict by_right = by_right_.cells();
    double* __restrict by_down = by_down_.cells();
    for (std::size_t i = 0; i < cells; ++i) {
      const double here = after[i];
      by_u[i] = here * (1.0 + growth * (1.0 - 2.0 * u[i])) + right[i] * (after[i + 1] - here) -
                right[i - 1] * (here - after[i - 1]) + down[i] * (after[i + side] - here) -
                passage_above[i] * (here - above[i]);
      by_right[i] += (here - after[i + 1]) * (u[i + 1] - u[i]);
      by_down[i] += (here - after[i + side]) * (u[i + side] - u[i]);
    }
    std::swap(by_state_.numbers, by_next_.numbers);
  }

  double finish(std::span<double> out) {
    const double half = 0.5 * square_.spread * square_.step();
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t i = 0; i < square_.cells(); ++i) {
      const double right = half * by_right_.cells()[i], down = half * by_down_.cells()[i];
      if ((i + 1) % square_.side != 0) {
        out[square_.patch(i)] += right;
        out[square_.patch(i + 1)] += right;
      }
      if (i + square_.side < square_.cells()) {
        out[square_.patch(i)] += down;
        out[square_.patch(i + square_.side)] += down;
      }
    }
    return value_;
  }

  Square square_;
  std::vector<double> data_, residuals_;
  std::optional<Passages<double>> passages_;
  Field<double> by_state_{square_}, by_next_{square_}, by_right_{square_}, by_down_{square_};
  Field<double> state_{square_}, next_{square_};
  std::vector<Field<double>> kept_;
  std::size_t seen_ = 0, advances_ = 0;
  double value_ = 0;
};

}  // namespace onward::bench
