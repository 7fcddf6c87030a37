#include "until_ess.hpp"

#include <algorithm>

namespace onward {
namespace {

constexpr double most_rhat = 1.01;

}  // namespace

std::size_t first_limit(const RunSettings& settings, std::size_t draws) {
  if (!settings.until_ess) return settings.draws;
  std::size_t limit = settings.min_draws;
  while (limit < draws && limit < settings.draws) limit *= 2;
  return std::min(limit, settings.draws);
}

std::size_t next_limit(const RunSettings& settings, std::size_t limit) {
  return std::min(2 * limit, settings.draws);
}

bool is_enough(const Run& run, double wanted, std::size_t judged, const std::atomic<bool>& stop,
               const std::function<void()>& look) {
  for (std::size_t i = 0; i < std::min(judged, run.names.size()); ++i) {
    look();
    if (stop) return false;
    const Chains chains = run.parameter(i);
    // A parameter that never changes has nothing to say.
    const double first = chains.front().front();
    if (std::ranges::all_of(chains, [&](const auto& c) {
          return std::ranges::all_of(c, [&](double x) { return x == first; });
        }))
      continue;
    const double ess = ess_bulk(chains);
    if (!(ess >= wanted) || !(ess_tail(chains) >= wanted)) return false;
    if (chains.size() > 1 && !(rhat(chains) < most_rhat)) return false;
  }
  return true;
}

}  // namespace onward
