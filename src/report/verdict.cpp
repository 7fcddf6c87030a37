// Whether a run can be trusted, in words: what a reader wants to know before any picture.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "onward/io/run_json.hpp"
#include "parts.hpp"

namespace onward::report {
namespace {

using Level = Verdict::Level;

/// Beyond these the draws are not merely few: they may be of something else than the posterior.
constexpr double rhat_far_off = 1.05, ess_far_too_few = 100;

void worsen(Verdict& verdict, Level level) { verdict.level = std::max(verdict.level, level); }

/// What the table shows: effects of groups, of which some always have chains apart by a little, do not speak
/// for the run.
std::vector<ParameterSummary> judged(const Input& input) {
  const std::size_t size = std::min(input.parameters.size(), input.shown.value_or(input.parameters.size()));
  return {input.parameters.begin(), input.parameters.begin() + static_cast<std::ptrdiff_t>(size)};
}

void judge_levels(const Input& input, Verdict& verdict) {
  const std::size_t first = std::min(input.parameters.size(), input.shown.value_or(input.parameters.size()));
  const auto levels = std::span(input.parameters).subspan(first);
  const double limit = ess_limit_per_chain * static_cast<double>(input.chains);
  const auto doubtful = std::ranges::count_if(levels, [&](const ParameterSummary& s) {
    return s.rhat > rhat_limit || std::min(s.ess_bulk, s.ess_tail) < limit;
  });
  if (doubtful == 0) return;
  verdict.reasons.push_back(fmt::format(
      "Of the {} effects of groups, {} {} an R-hat above {} or fewer than {:.0f} effective draws. Look at "
      "the row of a level before you rely on it.",
      levels.size(), doubtful, doubtful == 1 ? "has" : "have", rhat_limit, limit));
}

void judge_model(const Input& input, Verdict& verdict) {
  if (!input.regression) return;
  if (const auto& check = input.regression->check)
    for (const auto& statistic : check->parts.front().statistics)
      if (const double p = statistic.p(); p < 0.01 || p > 0.99) {
        worsen(verdict, Level::doubtful);
        verdict.reasons.push_back(fmt::format(
            "The {} of the data is {} than in nearly all data sets that the model makes up: the draws may be "
            "right, but "
            "the model does not account for it. Try another family or further predictors.",
            statistic.name == "zeros" ? "share of zeros" : statistic.name, p < 0.5 ? "higher" : "lower"));
      }
}

double temperature(const Input& input) {
  if (!input.run.is_object()) return 1;
  return input.run.value(nlohmann::ordered_json::json_pointer("/settings/temperature"), 1.0);
}

std::string headline(const Verdict& verdict, bool sampling_is_fine, bool places_may_be_missed) {
  switch (verdict.level) {
    case Level::good:
      return "Yes: nothing speaks against these draws.";
    case Level::doubtful:
      if (places_may_be_missed) return "With care: there may be places that these draws do not reach.";
      return sampling_is_fine
                 ? "The sampling can be trusted; there is something to know about the model or the run."
                 : "With care: some figures are not certain enough yet.";
    case Level::bad:
      break;
  }
  return "No: these draws may not be of the posterior.";
}

}  // namespace

Verdict verdict(const Input& input, const SettingWords& words) {
  Verdict result;
  if (input.names.empty() && input.predictions) {
    result.level = Level::doubtful;
    result.headline = "Not known: the run kept its predictions and no draws.";
    result.reasons = {
        "R-hat and effective sample sizes need draws. Sample once with them to see whether the chains agree; "
        "what the predictions are worth on rows with answers is shown below."};
    if (!input.unfinished.empty()) result.reasons.push_back(fmt::format("The run {}.", input.unfinished));
    return result;
  }
  const auto rows = judged(input);
  const WorstCase worst = worst_case(rows);
  result.reasons = warnings(rows, input.chains, input.draws, input.dense_metric_may_help, words);
  const bool agree = result.reasons.empty(), in_doubt = trajectories_in_doubt(input.trajectories);
  const bool fine = agree && !in_doubt;
  for (auto& line : trajectory_warnings(input.trajectories, words)) result.reasons.push_back(std::move(line));
  const bool nothing_to_go_by =
      std::ranges::any_of(rows, [](const auto& s) { return std::isnan(s.mean) || s.sd == 0; });
  if (!fine) worsen(result, Level::doubtful);
  if (worst.rhat > rhat_far_off || worst.ess_bulk < ess_far_too_few || input.draws < 4 || nothing_to_go_by)
    worsen(result, agree ? Level::doubtful : Level::bad);
  if (!input.unfinished.empty()) {
    worsen(result, Level::doubtful);
    result.reasons.push_back(
        fmt::format("The run {}: this is what the {} draws that each chain has so far say.", input.unfinished,
                    input.draws));
  }
  if (const double t = temperature(input); t != 1)
    result.reasons.push_back(
        fmt::format("The run has the temperature {}: its draws are of the density to the power of 1/{}, and "
                    "not of the posterior.",
                    t, t));
  judge_model(input, result);
  judge_levels(input, result);
  result.headline = headline(result, fine, agree && in_doubt);
  if (agree && input.chains > 1) {
    std::string words_on_figures = fmt::format(
        "The {} chains agree (largest R-hat {:.3f}; it should be below {}), and every figure rests on at "
        "least {:.0f} "
        "effective draws ({:.0f} are enough).",
        input.chains, worst.rhat, rhat_limit, std::min(worst.ess_bulk, worst.ess_tail),
        ess_limit_per_chain * static_cast<double>(input.chains));
    if (std::isfinite(worst.rhat)) result.reasons.insert(result.reasons.begin(), std::move(words_on_figures));
  }
  if (fine && !input.trajectories.empty()) result.reasons.push_back("No trajectory diverged.");
  return result;
}

}  // namespace onward::report
