#include "onward/glm/group_sampler.hpp"

#include <cmath>

#include <fmt/format.h>

#include "group_chain.hpp"
#include "onward/error.hpp"
#include "onward/glm/mode.hpp"
#include "sweeps.hpp"

namespace onward::glm {

GroupChainMaker::GroupChainMaker(MixedPosterior posterior, const GroupOptions& options)
    : shared_(new Shared{std::move(posterior), options, 1, {}, {}}) {
  if (!(options.relaxation > 0 && options.relaxation < 2))
    throw UsageError(fmt::format("relaxation is {}: it must lie between 0 and 2", options.relaxation));
  if (options.refresh_every == 0)
    throw UsageError("refresh_every is 0: the predictor must be computed afresh now and then");
  shared_->names = shared_->posterior.names();
}

GroupChainMaker::~GroupChainMaker() = default;

SamplerInfo GroupChainMaker::describe() {
  return describe_sweeps(sampler,
                         "regressions with groups: all levels of a factor at once, and moves that mix them",
                         GroupOptions{}.relaxation);
}

std::size_t GroupChainMaker::dimension() const { return shared_->posterior.dimension(); }
std::vector<std::string> GroupChainMaker::names() const { return shared_->names; }
std::size_t GroupChainMaker::judged() const { return shared_->posterior.layout().reported; }
std::vector<std::string> GroupChainMaker::notes() const { return shared_->warnings; }

RunSettings GroupChainMaker::resolve(RunSettings s) const {
  return resolve_sweeps(std::move(s), sampler, dimension(), usual_warmup, shared_->settings.relaxation,
                        "near the mode without groups");
}

void GroupChainMaker::prepare(const RunSettings& settings, ThreadPool& pool, const std::atomic<bool>&) {
  Shared& s = *shared_;
  s.seed = *settings.seed;
  s.settings.relaxation = settings.sampler_options.at("relaxation").get<double>();
  const RegressionPosterior& population = s.posterior.population();
  const Mode mode = find_mode(population, pool);
  s.warnings = mode.warnings;
  s.number_logs = FamilyNumbers::of(mode.numbers).logs();
  s.start = mode.coefficients;
  s.precision = mode.precision;
  const Observations& y = population.observations();
  if (y.family() == Family::gaussian) {
    const Floats& weights = y.weights();
    s.gram = population.design().gram(weights.empty() ? nullptr : weights.data(), pool);
  }
  for (const GroupTerm& term : s.posterior.terms()) s.rows.emplace_back(y, term);
  s.shifts = find_shifts(s.posterior);
  s.nested = find_nested_shifts(s.posterior);
  for (const GroupTerm& term : s.posterior.terms())
    s.far = s.far || !far_columns(y, s.posterior.terms(), term.factor).empty();
  s.tilts = find_tilts(s.posterior);
  for (const GroupPriors& priors : default_group_priors(y, s.posterior.terms())) {
    auto& typical = s.typical_sds.emplace_back();
    for (const Prior& prior : priors.sds) typical.push_back(prior.scale / 5);
  }
}

std::unique_ptr<Chain> GroupChainMaker::make(std::size_t number, std::shared_ptr<ThreadPool> pool) {
  return std::make_unique<GroupChain>(*shared_, static_cast<std::uint32_t>(number), std::move(pool));
}

Run sample_groups(MixedPosterior posterior, RunSettings settings, const Hooks& hooks,
                  const GroupOptions& options) {
  GroupChainMaker maker(std::move(posterior), options);
  return run_chains(maker, maker.resolve(std::move(settings)), hooks);
}

}  // namespace onward::glm
