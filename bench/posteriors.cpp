#include "posteriors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/suggest.hpp"
#include "posterior_runs.hpp"

namespace onward::bench {
namespace {

/// All kinds of evaluation in turn, at a typical place: the best of several rounds of about a millisecond.
MeasuredPrices measure_prices(const KnownPosterior& posterior) {
  AnyTarget target = posterior.target;
  std::vector<double> theta(target.dimension()), v(theta.size()), w(theta.size()), gradient(theta.size());
  const Stream stream(3, 0);
  if (posterior.make_source)
    posterior.make_source()(stream, theta);
  else  // somewhere near 0 in the space that is sampled: prices hardly depend on the place
    stream.normals(0, Purpose::start, theta);
  stream.direction(0, Purpose::direction, v);
  stream.direction(1, Purpose::direction, w);
  const std::array<std::function<double()>, 6> kinds{
      [&] { return target.value(theta); },
      [&] { return target.jet(theta, v, Order::slope).slope; },
      [&] { return target.jet(theta, v, Order::curvature).curvature; },
      [&] { return target.jet_pair(theta, v, w, Order::slope).second.slope; },
      [&] { return target.jet_pair(theta, v, w, Order::curvature).second.curvature; },
      [&] { return target.gradient(theta, gradient); }};
  std::array<double, 6> seconds;
  seconds.fill(INFINITY);
  constexpr int rounds = 15;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const auto begin = Clock::now();
      int calls = 0;
      do {
        for (int i = 0; i < 20; ++i) keep(kinds[k]());
        calls += 20;
      } while (seconds_since(begin) < 1e-3);
      seconds[k] = std::min(seconds[k], seconds_since(begin) / calls);
    }
  const double value = seconds[0];
  return {value,
          seconds[1] / value,
          seconds[2] / value,
          seconds[3] / value,
          seconds[4] / value,
          seconds[5] / value};
}

/// Both ways at their best settings.
std::optional<Comparison> compare(const Problem& problem, Comparison comparison, const Setting& first,
                                  const Setting& second, const Effort& effort, bool quick,
                                  const std::atomic<bool>& stop) {
  std::vector<Setting> settings{first, second};
  std::vector<SamplerFigures> figures;
  for (auto& setting : settings) {
    if (setting.sampler->tuned) setting = tune(problem, setting, effort, stop);
    if (const auto f = measure(problem, setting, effort, stop)) figures.push_back(*f);
  }
  const auto speeds = measure_speed(problem, settings, quick, stop);
  if (stop) return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) figures[k].steps_per_second = speeds[k];
  comparison.first = figures[0];
  comparison.second = figures[1];
  return comparison;
}

/// What the defaults of a sampler gain, where that can be told from other things.
std::vector<Comparison> compare_ways(const Problem& problem, const Effort& effort, bool quick,
                                     const std::atomic<bool>& stop) {
  std::vector<Comparison> list;
  const auto add = [&](std::string name, std::string peer, bool by_time, double wanted, const Setting& first,
                       const Setting& second) {
    const Comparison asked{std::move(name), std::move(peer), {}, {}, by_time, wanted};
    if (const auto made = compare(problem, asked, first, second, effort, quick, stop)) list.push_back(*made);
  };
  const std::size_t dimension = problem.whitened.dimension();
  const std::string& name = problem.posterior->name;
  const SamplerInfo &newton_line = find_sampler("newton-line"), &fmala = find_sampler("fmala");
  if (name.starts_with("gaussian") && dimension >= 10 && dimension <= 100)
    add("newton-line, frames against sphere", "independent directions", false, 1.4,
        {&newton_line, 1, "frames"}, {&newton_line, 1, "sphere"});
  if (name == "logistic")
    add("fmala, one jet a step against the published two", "--tangent fresh", true, 1.6, {&fmala, 1},
        {&fmala, 1, "auto", Tangent::fresh});
  return list;
}

DefaultRun default_run(const KnownPosterior& posterior, const std::atomic<bool>& stop) {
  RunSettings s;
  s.seed = 1;
  s.max_seconds = posterior.allowed_seconds;
  Hooks hooks;
  hooks.stop = &stop;
  const auto begin = Clock::now();
  const Run run = sample(posterior.target, s, hooks);
  DefaultRun result{run.settings.sampler, seconds_since(begin), posterior.allowed_seconds, INFINITY, 0};
  if (stop || run.draws() < 4) return result;
  result.max_rhat = 0;
  result.min_ess = INFINITY;
  for (const auto& parameter : run.summary()) {
    result.max_rhat = std::max(result.max_rhat, std::isnan(parameter.rhat) ? INFINITY : parameter.rhat);
    result.min_ess = std::min(result.min_ess, parameter.ess_bulk);
  }
  return result;
}

LongestStay longest_stay(const Problem& problem, const Setting& setting, std::size_t steps,
                         const std::atomic<bool>& stop) {
  RunSettings s = whitened_run(setting, problem.starts.front());
  s.thin = 1;
  s.draws = steps;
  s.seed = 11;
  Hooks hooks;
  hooks.stop = &stop;
  const Run run = sample(problem.whitened, s, hooks);
  const auto& values = run.chains.front().values;
  std::size_t longest = 0, stay = 0;
  for (std::size_t n = 1; n < values.size(); ++n) {
    stay = values[n] == values[n - 1] ? stay + 1 : 0;
    longest = std::max(longest, stay);
  }
  return {std::string(setting.sampler->name), steps, longest};
}

std::vector<const SamplerInfo*> chosen_samplers(const std::vector<std::string>& list) {
  std::vector<const SamplerInfo*> chosen;
  if (list.empty())
    for (const auto& info : samplers()) chosen.push_back(&info);
  for (const auto& name : list) chosen.push_back(&find_sampler(name));
  return chosen;
}

bool asked(const PosteriorsOptions& options, std::string_view part) {
  if (options.parts.empty()) return !(options.quick && part == "defaults");
  return std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
}

void check_parts(const std::vector<std::string>& parts) {
  const std::vector<std::string> known{"tuned", "untuned", "ways", "defaults", "stays", "prices"};
  for (const auto& part : parts)
    if (std::find(known.begin(), known.end(), part) == known.end())
      throw UsageError(fmt::format("--parts '{}' is not known.{} Parts: {}", part, suggestion(part, known),
                                   joined(known)));
}

/// Everything that was asked for of one posterior; incomplete if it was stopped.
PosteriorFigures measure_posterior(const KnownPosterior& posterior, const PosteriorsOptions& options,
                                   const std::vector<const SamplerInfo*>& infos,
                                   const std::function<void()>& begin_piece, const std::atomic<bool>& stop) {
  const Effort effort = effort_for(posterior, options);
  const Problem problem = prepare(posterior, effort.pool);
  PosteriorFigures f;
  f.name = posterior.name;
  f.command = posterior.command;
  f.dimension = posterior.target.dimension();
  f.one_dimensional = posterior.one_dimensional;
  f.metric = to_string(problem.metric);
  f.quantities = posterior.quantities.words;
  f.budget = effort.budget;
  f.runs = effort.runs;

  if (asked(options, "tuned")) {
    std::vector<Setting> settings;
    for (const SamplerInfo* info : infos) {
      if (stop) return f;
      begin_piece();
      // A sampler without a step size is first of all measured as it is.
      if (!info->tuned) settings.push_back({info, 1});
      const Setting best = tune(problem, {info, 1}, effort, stop);
      if (info->tuned || best.value != 1) settings.push_back(best);
      while (f.tuned.size() < settings.size()) {
        const auto figures = measure(problem, settings[f.tuned.size()], effort, stop);
        if (!figures) return f;
        f.tuned.push_back(*figures);
      }
    }
    const auto speeds = measure_speed(problem, settings, options.quick, stop);
    for (std::size_t k = 0; k < settings.size(); ++k) f.tuned[k].steps_per_second = speeds[k];
    for (const auto& setting : settings) {
      if (!asked(options, "stays") || !f.one_dimensional || stop) break;
      const bool newton = setting.sampler->name == "newton-line";
      if (newton ? setting.value == 1 : setting.sampler->name == "pc-line-fmala")
        f.stays.push_back(longest_stay(problem, setting, options.quick ? 100'000 : 1'000'000, stop));
    }
  }
  if (asked(options, "untuned"))
    for (const SamplerInfo* info : infos) {
      if (stop) return f;
      begin_piece();
      if (const auto figures = measure_untuned(problem, *info, effort, stop)) f.untuned.push_back(*figures);
    }
  if (asked(options, "ways") && !stop) f.comparisons = compare_ways(problem, effort, options.quick, stop);
  if (asked(options, "prices") && !stop) f.prices = measure_prices(posterior);
  if (asked(options, "defaults") && !f.one_dimensional && !stop) {
    begin_piece();
    f.default_run = default_run(posterior, stop);
  }
  return f;
}

}  // namespace

bool DefaultRun::met() const { return max_rhat < 1.01 && min_ess > 400 && seconds <= allowed + 1; }

PosteriorsResult posteriors(const PosteriorsOptions& options, const PosteriorsProgress& progress,
                            const std::atomic<bool>& stop) {
  check_parts(options.parts);
  auto names = chosen_posteriors(options.only, options.posteriordb);
  if (options.quick && options.only.empty())
    std::erase_if(
        names, [](const auto& name) { return name.starts_with("gaussian-1000") || is_costly_to_draw(name); });
  const auto infos = chosen_samplers(options.samplers);
  const std::size_t pieces_each = (asked(options, "tuned") ? infos.size() : 0) +
                                  (asked(options, "untuned") ? infos.size() : 0) +
                                  (asked(options, "defaults") ? 1 : 0);
  const std::size_t total = names.size() * pieces_each;
  const auto begin = Clock::now();

  PosteriorsResult result;
  result.quick = options.quick;
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::size_t done = k * pieces_each;
    const auto begin_piece = [&] { progress(done++, total); };
    const KnownPosterior posterior = make_posterior(names[k], options.posteriordb);
    if (posterior.quantities.mean.empty()) continue;  // nothing to compare with
    auto figures = measure_posterior(posterior, options, infos, begin_piece, stop);
    if (stop) {
      result.complete = false;
      break;
    }
    result.posteriors.push_back(std::move(figures));
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace onward::bench
