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
  std::size_t max_name_width = 40;  ///< longer names are cut in the middle
};

/// The table "name mean sd 5% 50% 95% mcse ess_bulk ess_tail rhat": ASCII, aligned, one line a parameter.
/// A parameter's Monte Carlo error decides how many digits of it are shown.
std::string summary_table(const std::vector<ParameterSummary>& summaries, const TableOptions& options = {});

/// Above this R-hat the chains have not mixed.
inline constexpr double rhat_limit = 1.01;
/// Below this many effective draws a chain, bulk or tail, the estimates (and R-hat itself) are unreliable.
inline constexpr double ess_limit_per_chain = 100;

/// One sentence a problem: the worst parameter, its value, how many share the problem, what to try.
/// Empty if there is nothing to say. `dense_metric_may_help`: it was not used, and could have been.
std::vector<std::string> warnings(const std::vector<ParameterSummary>& summaries, std::size_t chains,
                                  std::size_t draws_per_chain, bool dense_metric_may_help = true);

}  // namespace onward
