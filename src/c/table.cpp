// A run in words, as the program prints it.

#include <algorithm>

#include <fmt/format.h>

#include "handles.hpp"
#include "onward/diagnostics/summary.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/printable.hpp"

using namespace onward;

std::vector<ParameterSummary> onward_run::shown() {
  const std::vector<ParameterSummary>& all = parameters();
  const auto count = static_cast<std::ptrdiff_t>(std::min(all.size(), shown_.value_or(all.size())));
  return {all.begin(), all.begin() + count};
}

std::vector<std::string> onward_run::warnings() {
  const Run& run = result().run;
  const auto has_draws = [](const ChainRecord& chain) { return chain.draws > 0; };
  const auto chains = static_cast<std::size_t>(std::ranges::count_if(run.chains, has_draws));
  if (chains == 0) return {"There are no draws."};
  const bool other_metric = find_sampler(run.settings.sampler).kernel && !beyond_metrics_ &&
                            run.settings.metric != MetricKind::dense;
  std::vector<std::string> lines = onward::warnings(shown(), chains, run.draws(), other_metric);
  for (auto& line : trajectory_warnings(run.trajectories())) lines.push_back(std::move(line));
  return lines;
}

std::string onward_run::table_text() {
  const Run& run = result().run;
  std::string text = fmt::format("{}: {} chains of {} draws by {}, seed {}\n\n", spec.kind, run.chains.size(),
                                 run.draws(), run.settings.sampler, run.seed());
  const auto rows = shown();
  text += summary_table(rows);
  if (rows.size() < parameters().size())
    text += fmt::format("and {} effects of groups\n", parameters().size() - rows.size());
  for (const auto& line : words_) text += printable(line) + "\n";
  for (const auto& note : run.notes()) text += "note: " + printable(note) + "\n";
  if (run.ending == Ending::interrupted) text += "note: the run was interrupted\n";
  if (run.ending == Ending::time_limit) text += "note: the run was stopped by `max_seconds`\n";
  for (const auto& warning : warnings()) text += "warning: " + printable(warning) + "\n";
  return text;
}
