// How a network's posterior fits the memory that there is: the size of its pieces and what is kept besides.

#include "model_memory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/memory.hpp"

namespace onward::net {
namespace {

/// What is given for kept activations, in bytes, where directions are of one layer.
constexpr double usual_keep = 256e6;

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string shown(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// What any sampler that may be chosen by pilots asks for at most.
SamplerInfo most_demanding() {
  SamplerInfo most;
  for (const auto& sampler : samplers()) {
    if (!sampler.piloted) continue;
    most.line = most.line || sampler.line;
    most.directed = most.directed || sampler.directed;
    most.held_vectors = std::max(most.held_vectors, sampler.held_vectors);
  }
  return most;
}

SamplerInfo sampler_of(const RunSettings& run) {
  return run.sampler == choose_sampler_word ? most_demanding() : find_sampler(run.sampler);
}

/// Whether a sampler may take slopes on two lines at once. Networks offer no other pairs.
bool may_pair(const SamplerInfo& sampler) { return sampler.line && sampler.order == Order::slope; }

/// How many vectors of all parameters a chain on a network has at most.
double held_vectors(const RunSettings& run) {
  if (run.vectors == Vectors::regenerated) return 2;
  const SamplerInfo sampler = sampler_of(run);
  const double metric = run.metric && *run.metric != MetricKind::none ? 3 : 0;
  const double own = static_cast<double>(sampler.held_vectors) + (may_pair(sampler) ? 2 : 0);
  // The tables of each source of directions.
  const double sources = !sampler.directed || run.directions == "sphere"
                             ? 0
                             : 1 + static_cast<double>(std::ranges::count(run.directions, '+'));
  return metric + own + 3 * sources;
}

/// Of whatever a kernel may ask for; where a chain starts, the whole jet is asked for.
std::size_t jet_bytes(const Needs& needs, const NetworkPosterior& posterior) {
  const std::size_t whole = posterior.jet_bytes(Order::curvature);
  return needs.in_pairs ? std::max(posterior.jet_bytes(Order::slope), whole) : whole;
}

/// About what a run takes besides its data: the vectors of each chain's state and kernel and what it
/// evaluates with, and for all of them where they start and what they last were.
double run_bytes(const Needs& needs, const NetworkPosterior& posterior, double evaluation) {
  const double vector = sizeof(double) * static_cast<double>(posterior.dimension());
  return 3 * vector + static_cast<double>(needs.chains) * (needs.vectors * vector + evaluation);
}

}  // namespace

Needs needs_of(const RunSettings& run) {
  const SamplerInfo sampler = sampler_of(run);
  Needs needs{run.chains, held_vectors(run), sampler.needs_gradient, may_pair(sampler), false};
  for (const char* within_layers : {"blocks", "units"})
    needs.keeps_activations =
        needs.keeps_activations || run.directions.find(within_layers) != std::string::npos;
  return needs;
}

void check_parameters(const Layout& layout) {
  const double bytes = 12.0 * sizeof(double) * static_cast<double>(layout.parameter_count());
  if (bytes > machine_bytes())
    throw Error(
        fmt::format("the network has {} parameters: to sample them would take {} of this machine's {}",
                    layout.parameter_count(), shown_bytes(bytes), shown_bytes(machine_bytes())));
}

NetworkPosterior fit_posterior(const OptionValues& given, const Needs& needs,
                               std::shared_ptr<const Network> network, const Data& data,
                               PosteriorOptions options, std::shared_ptr<ThreadPool> pool) {
  const auto make = [&] { return NetworkPosterior(network, data, options, pool); };
  const bool told = given.has("keep_activations");
  const double keep = given.bytes("keep_activations").value_or(needs.keeps_activations ? usual_keep : 0);
  options.kept_activations_bytes = static_cast<std::size_t>(keep);
  const std::size_t piece = options.piece;
  NetworkPosterior posterior = make();
  const double asked = told ? keep : 0;
  const auto needed = [&] {
    // Of the whole data it does not depend on pieces: check_gradient_memory() tells what to do instead.
    const bool by_pieces = needs.for_mala && options.gradient != GradientForm::whole;
    const std::size_t gradient = by_pieces ? posterior.gradient_bytes(options.gradient) : 0;
    return run_bytes(needs, posterior, static_cast<double>(jet_bytes(needs, posterior) + gradient) + asked);
  };
  const auto what = [&] {
    return fmt::format("{} parameters, {} and pieces of {}", posterior.dimension(),
                       counted(needs.chains, "chain"), counted(posterior.options().piece, "row"));
  };
  if (!given.has("max_memory")) {
    if (needed() > machine_bytes())
      throw Error(
          fmt::format("{} would take {} of this machine's {}: give fewer `chains`, a smaller `piece`, or a "
                      "`max_memory` to choose it by",
                      what(), shown_bytes(needed()), shown_bytes(machine_bytes())));
    return posterior;
  }
  const double limit = *given.bytes("max_memory");
  if (needed() > limit) {  // what only saves time goes first
    options.known_values_bytes = 0;
    if (asked == 0) options.kept_activations_bytes = 0;
    posterior = make();
  }
  while (needed() > limit && piece == 0 && posterior.options().piece > 1) {
    options.piece = posterior.options().piece / 2;
    posterior = make();
  }
  const auto chains = static_cast<double>(needs.chains);
  if (needed() > limit)
    throw Error(fmt::format(
        "`max_memory` {} is too little: {} take {}{}{}", shown(given.json().at("max_memory")), what(),
        shown_bytes(needed()),
        asked > 0 ? fmt::format(", {} of it for `keep_activations`", shown_bytes(chains * asked)) : "",
        piece > 1 ? "; without `piece` smaller ones are taken" : ""));
  if (asked == 0 && keep > (limit - needed()) / chains) {
    options.kept_activations_bytes = static_cast<std::size_t>((limit - needed()) / chains);
    posterior = make();
  }
  return posterior;
}

void check_gradient_memory(const OptionValues& given, const Needs& needs, const NetworkPosterior& posterior) {
  const double limit = given.bytes("max_memory").value_or(machine_bytes());
  const auto bytes = [&](GradientForm form) {
    return run_bytes(needs, posterior,
                     static_cast<double>(jet_bytes(needs, posterior) + posterior.gradient_bytes(form)));
  };
  if (bytes(posterior.options().gradient) <= limit) return;
  throw Error(fmt::format(
      "gradients of {} rows with `gradient` {} would take {}, but there are {}{}: pieces take {}, "
      "checkpoint {}; samplers other than mala need none",
      posterior.data().count(), given.has("gradient") ? given.text("gradient") : "pieces",
      shown_bytes(bytes(posterior.options().gradient)), shown_bytes(limit),
      given.has("max_memory") ? " by `max_memory`" : "", shown_bytes(bytes(GradientForm::pieces)),
      shown_bytes(bytes(GradientForm::checkpoint))));
}

}  // namespace onward::net
