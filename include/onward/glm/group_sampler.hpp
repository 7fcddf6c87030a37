#pragma once
// Sweeps over regressions with group-level effects. Given everything else, the levels of a factor do not
// depend on each other: one pass over the rows gives slope and curvature of every level, each proposes by
// Newton's rule and is tested by itself. So a sweep costs a few passes over the rows, however many levels
// there are.
//
// What would mix slowly by that alone has moves of its own (group_moves.cpp): shifts between coefficients and
// effects that leave the predictor as it is, standard deviations given the effects and stretched together
// with them, correlations likewise. Each leaves the posterior invariant by itself.

#include <memory>
#include <string>
#include <vector>

#include "onward/glm/mixed_posterior.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward::glm {

struct GroupOptions {
  double relaxation = 1.2;         ///< c of the levels' updates, between 0 and 2
  std::size_t refresh_every = 50;  ///< sweeps after which the predictor is computed afresh
};

/// Chains of such sweeps. A sweep counts as as many steps as there are parameters, as along axes.
class GroupChainMaker final : public ChainMaker {
 public:
  static constexpr const char* sampler = "groups";  ///< its name in settings
  static SamplerInfo describe();                    ///< for the registry of samplers
  static constexpr std::size_t usual_warmup = 200;  ///< sweeps
  explicit GroupChainMaker(MixedPosterior posterior, const GroupOptions& options = {});
  ~GroupChainMaker() override;

  std::size_t dimension() const override;
  std::vector<std::string> names() const override;
  /// Effects of levels are not: there may be thousands, and the worst of them would decide.
  std::size_t judged() const override;
  RunSettings resolve(RunSettings settings) const override;
  void prepare(const RunSettings& resolved, ThreadPool& pool, const std::atomic<bool>& stop) override;
  bool shares_steps() const override { return true; }
  std::vector<std::string> notes() const override;
  std::unique_ptr<Chain> make(std::size_t number, std::shared_ptr<ThreadPool> pool) override;

 private:
  friend class GroupChain;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

/// Samples a regression with groups.
Run sample_groups(MixedPosterior posterior, RunSettings settings = {}, const Hooks& hooks = {},
                  const GroupOptions& options = {});

}  // namespace onward::glm
