#pragma once
// What a person reads after a run: the summary table, and plain sentences about what not to trust.

#include <cstddef>
#include <string>
#include <vector>

#include "onward/diagnostics/convergence.hpp"

namespace onward {

/// How the table is printed.
struct TableOptions {
  std::size_t max_rows = 0;         ///< the first so many parameters and a line that counts the rest; 0: all
  std::size_t max_name_width = 40;  ///< longer names are cut in the middle, as far as they stay different
  /// The widest that a line should be; 0: as wide as it takes. Columns are left out for it (mcse first, then
  /// 50%, then ess_tail; a line below the table says so), and names are cut.
  std::size_t width = 0;
};

/// The table "name mean sd 5% 50% 95% mcse ess_bulk ess_tail rhat", aligned, one line for each parameter.
/// A parameter's Monte Carlo error decides how many digits of it are shown.
std::string summary_table(const std::vector<ParameterSummary>& summaries, const TableOptions& options = {});

/// Above this R-hat the chains have not mixed.
inline constexpr double rhat_limit = 1.01;
/// Below this many effective draws a chain, bulk or tail, the estimates (and R-hat itself) are unreliable.
inline constexpr double ess_limit_per_chain = 100;

/// What the settings are called by those who read the warnings: fields of RunSettings unless a program has
/// other words.
struct SettingWords {
  std::string draws = "draws", warmup = "warmup", thin = "thin", sampler = "sampler", step_size = "step_size",
              four_chains = "chains = 4", dense_metric = "a dense metric",
              target_acceptance = "target_acceptance", max_depth = "max_depth";
};

/// One sentence for each problem: the worst parameter, its value, how many share the problem, what to try.
/// Empty if there is nothing to say. `dense_metric_may_help`: it was not used, and could have been.
std::vector<std::string> warnings(const std::vector<ParameterSummary>& summaries, std::size_t chains,
                                  std::size_t draws_per_chain, bool dense_metric_may_help = true,
                                  const SettingWords& words = {});

}  // namespace onward
