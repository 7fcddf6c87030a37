#include "onward/glm/axis_sampler.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include "axis_chain.hpp"
#include "onward/error.hpp"
#include "onward/glm/softmax.hpp"
#include "onward/util/memory.hpp"
#include "onward/util/release.hpp"
#include "sweeps.hpp"

namespace onward::glm {

void AxisChainMaker::Shared::prepare_priors() {
  const auto& priors = posterior.priors();
  precisions.resize(index(width()));
  for (std::size_t j = 0; j < width(); ++j) {
    normal_priors = normal_priors && priors[j].is_quadratic();
    precisions[index(j)] = priors[j].precision();
  }
  axis_curvature.resize(width());
  for (std::size_t j = 0; j < width(); ++j)
    axis_curvature[j] = -whitening.to_coefficients.col(index(j)).cwiseAbs2().dot(precisions);
}

/// Takes these coordinates, with their origin at the coefficients `at`.
void AxisChainMaker::Shared::use(const Whitening& w, std::span<const double> at, ThreadPool& pool,
                                 bool last) {
  whitening = w;
  centre.assign(at.begin(), at.end());
  base.assign(classes() * stride(), 0.0f);
  posterior.design().multiply(centre, classes(), base.data(), pool);
  const Floats& offset = posterior.observations().offset();
  for (std::size_t k = 0; k < classes() && !offset.empty(); ++k)
    for (std::size_t i = 0; i < offset.size(); ++i) base[k * stride() + i] += offset[i];
  columns.reset();
  if (last)
    columns.emplace(posterior.give_design(w.to_coefficients, pool));
  else
    columns.emplace(posterior.design(), w.to_coefficients, pool);
  prepare_priors();
}

namespace {

/// True if the largest predictor of every row is that of its class.
bool tells_all_classes(const Observations& y, const float* eta) {
  const std::size_t stride = padded_rows(y.rows());
  for (std::size_t i = 0; i < y.rows(); ++i) {
    if (y.weight(i) == 0) continue;
    const auto label = static_cast<std::size_t>(y.y(i));
    for (std::size_t k = 0; k < y.classes(); ++k)
      if (k != label && !(eta[k * stride + i] < eta[label * stride + i])) return false;
  }
  return true;
}

}  // namespace

AxisChainMaker::AxisChainMaker(RegressionPosterior posterior, const AxisOptions& options)
    : shared_(new Shared{
          std::move(posterior), options, 1, {}, {}, {}, {}, {}, {}, {}, {}, true, {}, {}, 1, {}, {}}) {
  if (!(options.relaxation > 0 && options.relaxation < 2))
    throw UsageError(fmt::format("relaxation is {}: it must lie between 0 and 2", options.relaxation));
  if (options.refresh_every == 0)
    throw UsageError("refresh_every is 0: the predictor must be computed afresh now and then");
  shared_->names = shared_->posterior.names();
}

SamplerInfo AxisChainMaker::describe() {
  return describe_sweeps(sampler, "regressions: newton-line along whitened axes, from near the mode",
                         AxisOptions{}.relaxation);
}

std::size_t AxisChainMaker::dimension() const { return shared_->posterior.dimension(); }
std::vector<std::string> AxisChainMaker::names() const { return shared_->names; }
std::vector<std::string> AxisChainMaker::notes() const { return shared_->warnings; }

RunSettings AxisChainMaker::resolve(RunSettings s) const {
  return resolve_sweeps(std::move(s), sampler, dimension(), usual_warmup, shared_->settings.relaxation,
                        "near the mode");
}

void AxisChainMaker::prepare(const RunSettings& settings, ThreadPool& pool, const std::atomic<bool>& stop) {
  Shared& s = *shared_;
  s.seed = *settings.seed;
  s.settings.relaxation = settings.sampler_options.at("relaxation").get<double>();
  if (s.classes() == 1) {
    const Mode mode = find_mode(s.posterior, pool);
    s.warnings = mode.warnings;
    s.numbers = FamilyNumbers(FamilyNumbers::of(mode.numbers).logs());
    s.use(whiten(mode.precision), mode.coefficients, pool, true);
    if (s.settings.blocks) s.choose_blocks(mode, pool);
  } else {
    const Observations& y = s.posterior.observations();
    s.warnings = data_warnings(s.posterior, pool);
    for (std::size_t k = 0; k < s.classes(); ++k) s.against_rest.push_back(y.one_against_rest(k));
    // First coordinates for equal classes. Sweeps in them bring a chain near the posterior; the weights that
    // the rows have on the way make the next coordinates, and their mean over later sweeps the last ones: at
    // a single place they rest on the few rows that happen to be undecided there.
    std::vector<double> at(s.posterior.coefficients(), 0.0);
    Floats weights(s.classes() * s.stride(), 0.0f);
    const auto coordinates = [&](const Floats& of_rows) {
      return whiten(shared_precision(s.posterior, of_rows, pool));
    };
    add_class_weights(y, Floats(s.classes() * s.stride(), 0.0f).data(), 1, weights.data(), pool);
    s.use(coordinates(Floats(weights.begin(), weights.begin() + index(s.stride()))), at, pool, false);
    constexpr std::uint32_t no_chain = 0xffffffff;  // a stream that no chain has
    constexpr int careful_sweeps = 8, first_sweeps = 32, averaged = 16;
    // It shares the set-up's threads, which outlive it.
    AxisChain scout(s, no_chain, std::shared_ptr<ThreadPool>(&pool, [](ThreadPool*) {}));
    scout.start(0);
    std::fill(weights.begin(), weights.end(), 0.0f);
    // A place that tells all rows' classes proves that they are separable. Not every draw is one, but where
    // some are their mean nearly always is.
    bool separable = false;
    Floats sum(s.classes() * s.stride(), 0.0f);
    for (int i = 0; i < first_sweeps && !stop; ++i) {
      scout.sweep(i < careful_sweeps);
      const float* eta = scout.predictor();
      for (std::size_t row = 0; row < sum.size(); ++row) sum[row] += eta[row];
      separable = separable || tells_all_classes(y, eta) || tells_all_classes(y, sum.data());
      if (i >= first_sweeps - averaged)
        add_class_weights(y, scout.predictor(), 1.0f / averaged, weights.data(), pool);
    }
    if (separable)
      s.warnings.emplace_back(
          "Linear combinations of the columns tell the classes apart without error (separable data): the "
          "likelihood has no maximum, and how large the coefficients are is decided by the prior.");
    for (std::size_t k = 0; k < s.classes(); ++k)
      std::copy(scout.coefficients(k).begin(), scout.coefficients(k).end(),
                at.begin() + static_cast<std::ptrdiff_t>(k * s.width()));
    s.columns.reset();  // the scout's way is over: room for the matrices of the classes
    const Whitening last = coordinates(weights);
    release(weights);
    give_back_memory();  // theirs would stay with the process, and the columns come on top
    s.use(last, at, pool, true);
  }
}

AxisChainMaker::~AxisChainMaker() = default;

std::size_t AxisChainMaker::memory() const {
  return shared_->columns->memory() + shared_->posterior.design().memory();
}

Run sample_axes(RegressionPosterior posterior, RunSettings settings, const Hooks& hooks,
                const AxisOptions& options) {
  AxisChainMaker maker(std::move(posterior), options);
  return run_chains(maker, maker.resolve(std::move(settings)), hooks);
}

std::unique_ptr<Chain> AxisChainMaker::make(std::size_t number, std::shared_ptr<ThreadPool> pool) {
  return std::make_unique<AxisChain>(*shared_, static_cast<std::uint32_t>(number), std::move(pool));
}

}  // namespace onward::glm
