#pragma once
// Sweeps of newton-line updates along the axes of whitened coefficients. An axis moves the predictor along
// one stored column, so an update costs one pass over the rows, which gives the jet at the proposal and, for
// the next axis, slope and curvature at the same place; a sweep over all axes is nearly an independent draw.
//
// Exact for any order of axes that ignores the state: each update is a Metropolis step with both widths in
// its ratio. After the axes come sigma or phi (one newton-line update of its logarithm) and, for categorical,
// the direction in which all classes move together: the likelihood is flat there, so under normal priors it
// is drawn anew exactly.
//
// Where the posterior is nearly normal, which the set-up finds out, most sweeps propose all coefficients at
// once instead, from the normal at the mode (axis_blocks.cpp): many proposals share one pass over the rows.
// Sweeps along axes in between reach what that normal does not.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "onward/glm/mode.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/glm/whitening.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::glm {

struct AxisOptions {
  double relaxation = 1.3;  ///< c, between 0 and 2; above 1 successive draws are over-relaxed
  /// kappa: h is at least kappa s^2. It acts beyond 1/sqrt(kappa) widths from the mode, 7 of them; at 0.1,
  /// that is 3 widths, chains are held up now and then in the tails of what is nearly normal.
  double curvature_floor = 0.02;
  double start_spread = 1.5;       ///< starts: the mode plus so many posterior widths of normal noise
  std::size_t refresh_every = 50;  ///< sweeps after which the predictor is computed afresh
  bool blocks = true;  ///< most sweeps propose all coefficients at once, where such proposals are accepted
};

/// Chains that sweep along the axes. A sweep is as many steps as there are parameters; warm-up (100 sweeps
/// unless it is given) and thinning (one sweep) are rounded up to whole sweeps.
class AxisChainMaker final : public ChainMaker {
 public:
  static constexpr const char* sampler = "axes";    ///< its name in settings
  static SamplerInfo describe();                    ///< for the registry of samplers
  static constexpr std::size_t usual_warmup = 100;  ///< sweeps
  /// A design of floats that nobody else holds will give its memory to the whitened columns. The relaxation
  /// that settings have counts, if they have one.
  explicit AxisChainMaker(RegressionPosterior posterior, const AxisOptions& options = {});
  ~AxisChainMaker() override;

  std::size_t dimension() const override;
  std::vector<std::string> names() const override;
  RunSettings resolve(RunSettings settings) const override;
  /// Finds the mode and whitens. If `stop` becomes true on the way, what follows is good for nothing but a
  /// run that is stopped.
  void prepare(const RunSettings& resolved, ThreadPool& pool, const std::atomic<bool>& stop) override;
  bool shares_steps() const override { return true; }
  std::vector<std::string> notes() const override;
  std::unique_ptr<Chain> make(std::size_t number, std::shared_ptr<ThreadPool> pool) override;

  /// Bytes that all chains share, once prepared.
  std::size_t memory() const;

 private:
  friend class AxisChain;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

/// Samples a regression along its axes.
Run sample_axes(RegressionPosterior posterior, RunSettings settings = {}, const Hooks& hooks = {},
                const AxisOptions& options = {});

}  // namespace onward::glm
