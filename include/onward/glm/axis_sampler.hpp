#pragma once
// Sweeps of newton-line updates along the axes of whitened coefficients. An axis moves the predictor along
// one stored column, so an update costs one pass over the rows, which gives the jet at the proposal and, for
// the next axis, slope and curvature at the same place; a sweep over all axes is nearly an independent draw.
//
// Exact for any order of axes that ignores the state: each update is a Metropolis step with both widths in
// its ratio. After the axes come sigma or phi (one newton-line update of its logarithm) and, for categorical,
// the direction in which all classes move together: the likelihood is flat there, so under normal priors it
// is drawn anew exactly.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onward/glm/mode.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/glm/whitening.hpp"

namespace onward::glm {

struct AxisSettings {
  std::size_t chains = 4;
  std::size_t warmup = 100;  ///< sweeps not kept
  std::size_t draws = 1000;  ///< kept, a chain
  std::size_t thin = 1;      ///< sweeps from one kept draw to the next
  std::uint64_t seed = 1;
  std::size_t threads = 1;
  double relaxation = 1.3;  ///< c, between 0 and 2; above 1 successive draws are over-relaxed
  /// kappa: h is at least kappa s^2. It acts beyond 1/sqrt(kappa) widths from the mode, 7 of them; at 0.1,
  /// that is 3 widths, chains are held up now and then in the tails of what is nearly normal.
  double curvature_floor = 0.02;
  double start_spread = 1.5;       ///< starts: the mode plus so many posterior widths of normal noise
  std::size_t refresh_every = 50;  ///< sweeps after which the predictor is computed afresh
  double slice = 0.05;             ///< seconds that a chain goes on for before others have their turn
};

/// One kept draw, valid during the call.
struct AxisDraw {
  std::size_t chain, number;           ///< counted from 0
  double log_density;                  ///< with the priors up to their constants
  double acceptance;                   ///< share of the updates since the last draw that were accepted
  std::span<const double> parameters;  ///< coefficients, then sigma or phi
};
/// Called from the chain's thread: different chains may call at the same time.
using AxisListener = std::function<void(const AxisDraw&)>;

/// How far the chains are, all together.
struct AxisProgress {
  std::atomic<std::uint64_t> sweeps{0}, updates{0}, accepted{0};
};

/// Who wants to know of a run while it goes on; each may be empty.
struct AxisHooks {
  AxisListener drawn = {};
  std::function<void(std::size_t chain)> warmed_up = {};
  const std::atomic<bool>* stop = nullptr;  ///< once true, chains end after the sweep they are in
  AxisProgress* progress = nullptr;
};

/// What was done, by one chain or by all.
struct AxisCounts {
  std::uint64_t updates = 0, accepted = 0, floored = 0, nonfinite = 0;
  double largest_drift = 0;   ///< of the cached predictor, found when it was computed afresh
  double warmup_seconds = 0;  ///< of the chains' threads
  double acceptance() const {
    return updates > 0 ? static_cast<double>(accepted) / static_cast<double>(updates) : 0;
  }
  AxisCounts& operator+=(const AxisCounts& other);
};

struct AxisReport : AxisCounts {
  double set_up_seconds = 0, seconds = 0;
  std::vector<AxisCounts> chains;
};

class AxisSampler {
 public:
  /// Finds the mode and whitens. A design of floats that nobody else holds gives its memory to the whitened
  /// columns. If `stop` becomes true on the way, what follows is good for nothing but a run that is stopped.
  AxisSampler(Posterior posterior, const AxisSettings& settings, const std::atomic<bool>* stop = nullptr);
  ~AxisSampler();
  AxisSampler(AxisSampler&&) noexcept;

  const std::vector<std::string>& warnings() const;
  const std::vector<std::string>& names() const;
  /// Bytes that all chains share.
  std::size_t memory() const;

  AxisReport run(const AxisHooks& hooks);
  AxisReport run(const AxisListener& listener) { return run(AxisHooks{.drawn = listener}); }

 private:
  friend class AxisChain;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace onward::glm
