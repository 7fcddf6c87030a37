// What may be asked of the funnel's table: the names of budgets, and the check of every setting.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "funnel.hpp"
#include "funnel_registers.hpp"
#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/suggest.hpp"

namespace onward::experiments {

std::string_view to_string(Budget budget) {
  switch (budget) {
    case Budget::evaluations:
      return "evaluations";
    case Budget::time:
      return "time";
    case Budget::steps:
      break;
  }
  return "steps";
}

Budget budget_from_string(std::string_view name) {
  for (auto budget : {Budget::evaluations, Budget::time})
    if (name == to_string(budget)) return budget;
  const std::vector<std::string> names{"evaluations", "time"};
  throw UsageError(fmt::format("--equal '{}' is not known.{} It is evaluations, time, both or none", name,
                               suggestion(name, names)));
}

void validate(const FunnelSettings& s) {
  const auto positive = [](const char* what, std::size_t value) {
    if (value == 0) throw UsageError(fmt::format("{} 0 makes no sense: give 1 or more", what));
  };
  if (s.dims.empty()) throw UsageError("--dims is empty: give numbers of x's, as in --dims 10,50,100");
  for (std::size_t dim : s.dims) {
    positive("--dims", dim);
    if (std::ranges::count(s.dims, dim) > 1)
      throw UsageError(fmt::format("--dims has {} twice: name each once", dim));
    if (dim > 10'000)
      throw UsageError(fmt::format("--dims {} is too large: at most 10000 x's fit this experiment", dim));
  }
  if (s.samplers.empty()) throw UsageError("--samplers is empty: give names, as in --samplers rwm,mala");
  for (const auto& sampler : s.samplers) {
    if (!has_lane_kernel(find_sampler(sampler).name))
      throw UsageError(fmt::format("--samplers {}: this table has no such row; leave it out", sampler));
    if (std::ranges::count(s.samplers, sampler) > 1)
      throw UsageError(fmt::format("--samplers has {} twice: name each once", sampler));
  }
  if (s.step_sizes == 0) throw UsageError("the grid is empty: --step-sizes 0; give 1 or more");
  positive("--seeds", s.seeds);
  positive("--chains", s.chains);
  constexpr double most = 1e8;  // sums, of 24 bytes each
  if (const double sums =
          static_cast<double>(s.seeds) * static_cast<double>(s.chains) * static_cast<double>(s.step_sizes);
      sums > most)
    throw UsageError(fmt::format(
        "--seeds {} of --chains {} at {} step sizes are {:.3g} chains, more than the {:.0g} that fit "
        "this experiment: give fewer",
        s.seeds, s.chains, s.step_sizes, sums, most));
  if (s.steps < 2) throw UsageError(fmt::format("--steps {} is too few: give 2 or more", s.steps));
  for (std::size_t dim : s.dims) {
    const double least = s.min_step_size.value_or(dim >= 100 ? 0.01 : 0.1);
    if (!(least > 0) || !std::isfinite(least))
      throw UsageError(fmt::format("--min-step-size {} is not usable: it must be a positive number", least));
    if (!(s.max_step_size > least) || !std::isfinite(s.max_step_size))
      throw UsageError(
          fmt::format("the grid from {} to {} is not one: --max-step-size must be above --min-step-size",
                      least, s.max_step_size));
  }
  if (s.lanes > register_lanes)
    throw UsageError(
        fmt::format("--lanes {} is too many: a register of this machine holds {}", s.lanes, register_lanes));
}

}  // namespace onward::experiments
