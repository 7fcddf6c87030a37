#pragma once
// Draws of a run as floats, which is what predictions need, with their log densities and the times of them.

#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "onward/run/run.hpp"
#include "onward/util/clock.hpp"

namespace onward::experiments {

/// What is kept of a chain: the parameters of each draw, one after the other.
struct ChainDraws {
  std::vector<float> values;
  std::vector<double> log_density, seconds;
  double position_rms = 0;  ///< of the last draw's position
  std::size_t count() const { return log_density.size(); }
  std::size_t width() const { return values.size() / count(); }
  std::span<const float> draw(std::size_t i) const { return {values.data() + i * width(), width()}; }
};

/// Its clock starts when it is made.
class Recorder : public Sink {
 public:
  explicit Recorder(std::size_t chains) : draws(chains) {}
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override {
    ChainDraws& d = draws[chain];
    for (double x : draw.parameters) d.values.push_back(static_cast<float>(x));
    d.log_density.push_back(draw.log_density);
    d.seconds.push_back(seconds_since(begin_));
    double squares = 0;
    for (double x : draw.position) squares += x * x;
    d.position_rms = std::sqrt(squares / static_cast<double>(draw.position.size()));
  }
  void finished(std::size_t) override {}

  std::vector<ChainDraws> draws;

 private:
  Clock::time_point begin_ = Clock::now();
};

/// The hooks of a run that is recorded and whose draws are kept nowhere else.
inline Hooks recording(Recorder& recorder, const std::function<void(double share)>& progress,
                       const std::atomic<bool>& stop) {
  Hooks hooks;
  hooks.sinks = {&recorder};
  hooks.keep_draws = false;
  hooks.stop = &stop;
  hooks.progress = [&progress](const Progress& p) {
    progress(static_cast<double>(p.steps_done) / static_cast<double>(p.steps_total));
  };
  return hooks;
}

}  // namespace onward::experiments
