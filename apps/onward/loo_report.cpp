#include "loo_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/io/loo_json.hpp"

namespace onward::app {
namespace {

using nlohmann::ordered_json;

constexpr double k_limit = Loo::k_limits[1];

/// The rows whose k is too high although their log likelihood moves.
std::vector<std::size_t> high_k(const Judged& judged, const Loo& result) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (result.points[i].k > k_limit && !result.points[i].same) rows.push_back(judged.row(i));
  return rows;
}

/// "3, 17 and 21", of more than ten "3, 17, ... and 40 more".
std::string listed(const std::vector<std::size_t>& rows) {
  constexpr std::size_t most = 10;
  const std::size_t shown = rows.size() > most ? most : rows.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == rows.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", rows[i]);
  }
  if (shown < rows.size()) text += fmt::format(" and {} more", rows.size() - shown);
  return text;
}

std::string estimates(const std::vector<std::pair<std::string, Estimate>>& rows) {
  std::string text = fmt::format("{:<10}{:>10}{:>9}\n", "", "estimate", "se");
  for (const auto& [name, estimate] : rows)
    text += fmt::format("{:<10}{:>10.1f}{:>9.1f}\n", name, estimate.value, estimate.se);
  return text;
}

std::string k_table(const Loo& result) {
  constexpr std::array<std::array<const char*, 2>, 4> classes{
      {{"(-inf, 0.5]", "good"}, {"(0.5, 0.7]", "ok"}, {"(0.7, 1]", "bad"}, {"(1, inf]", "very bad"}}};
  std::string text =
      fmt::format("{:<22}{:>13}{:>8}{:>13}\n", "Pareto k", "observations", "share", "least n_eff");
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double share = static_cast<double>(result.k_counts[c]) / static_cast<double>(result.points.size());
    text +=
        fmt::format("{:<13}{:<9}{:>13}{:>7.1f}%{:>13}\n", classes[c][0], classes[c][1], result.k_counts[c],
                    100 * share, result.k_counts[c] > 0 ? fmt::format("{:.0f}", result.least_n_eff[c]) : "");
  }
  return text;
}

/// Sentences for stdout, broken between words.
std::string sentences(const std::string& text) { return wrapped(text, columns_of(STDOUT_FILENO)); }

/// What the values of k mean.
std::string words_on_k(const Judged& judged, const Loo& result) {
  const auto high = high_k(judged, result);
  const auto same = static_cast<std::size_t>(
      std::ranges::count_if(result.points, [](const LooPoint& point) { return point.same; }));
  std::string text;
  if (!high.empty())
    text = fmt::format(
        "{} of {} observations {} a Pareto k above 0.7 (row{} {}): without them the posterior would be so "
        "different that these draws cannot tell how they would be predicted, and elpd_loo is probably too "
        "high. "
        "Look at these rows, try a family with heavier tails, or fit the model without them.\n",
        high.size(), result.points.size(), high.size() == 1 ? "has" : "have", high.size() == 1 ? "" : "s",
        listed(high));
  else if (result.k_counts[1] > 0)
    text = fmt::format(
        "{} of {} observations {} a Pareto k above 0.5, and none above 0.7: the estimates can be trusted.\n",
        result.k_counts[1], result.points.size(), result.k_counts[1] == 1 ? "has" : "have");
  else
    text = "No Pareto k is above 0.5: the estimates can be trusted.\n";
  if (same > 0)
    text += fmt::format(
        "The log likelihood of {} is the same at all draws. There k is infinite, and the estimate exact.\n",
        counted(same, "observation"));
  return text;
}

std::string words_on_p(const Waic& result) {
  if (result.p_above_limit == 0) return "No p_waic is above 0.4: the estimates can be trusted.\n";
  return fmt::format(
      "{} of {} values of p_waic {} above 0.4, where WAIC cannot be trusted: use loo, without --waic.\n",
      result.p_above_limit, result.points.size(), result.p_above_limit == 1 ? "is" : "are");
}

std::string words_of(const Judged& judged) {
  if (const Loo* by_loo = std::get_if<Loo>(&judged.result)) return words_on_k(judged, *by_loo);
  return words_on_p(std::get<Waic>(judged.result));
}

/// What a difference from the best model means, by the usual rules of thumb.
std::string words_on_difference(const std::string& folder, const std::string& best,
                                const ComparedModel& row) {
  const double difference = -row.elpd_diff;
  if (difference < 4)
    return fmt::format("{} predicts about as well as {}: a difference below 4 is small.\n", folder, best);
  if (difference < 2 * row.se_diff)
    return fmt::format("{} predicts worse than {}, but by less than two standard errors: it may be chance.\n",
                       folder, best);
  return fmt::format("{} predicts worse than {}, by {:.1f} standard errors.\n", folder, best,
                     difference / row.se_diff);
}

ordered_json estimate_json(const Judged& judged) {
  ordered_json json{{"folder", judged.folder}, {"model", judged.model}};
  json.update(std::visit([](const auto& result) { return loo_json(result); }, judged.result));
  return json;
}

/// A field of a CSV file, in quotes if it needs them.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::vector<double> Judged::elpds() const {
  return std::visit(
      [](const auto& of) {
        std::vector<double> values;
        for (const auto& point : of.points) values.push_back(point.elpd);
        return values;
      },
      result);
}

const Estimate& Judged::elpd() const {
  return std::visit([](const auto& of) -> const Estimate& { return of.elpd; }, result);
}

std::string report(const Judged& judged) {
  const auto head = [&](const auto& result) {
    return fmt::format("{}: {}, {} of {}, {}\n\n", judged.folder, judged.model,
                       counted(result.chains, "chain"), counted(result.draws, "draw"),
                       counted(result.points.size(), "observation"));
  };
  if (const Loo* result = std::get_if<Loo>(&judged.result)) {
    std::string text =
        head(*result) +
        estimates({{"elpd_loo", result->elpd}, {"p_loo", result->p}, {"looic", result->looic}});
    if (const double mcse = result->mcse(); !std::isnan(mcse))
      text += fmt::format("\nThe Monte Carlo standard error of elpd_loo is {:.2g}.\n", mcse);
    text += "\n";
    if (result->k_counts[0] < result->points.size()) text += k_table(*result) + "\n";
    return text + sentences(words_on_k(judged, *result));
  }
  const Waic& criterion = std::get<Waic>(judged.result);
  return head(criterion) +
         estimates({{"elpd_waic", criterion.elpd}, {"p_waic", criterion.p}, {"waic", criterion.waic}}) +
         "\n" + sentences(words_on_p(criterion));
}

std::string comparison_report(const std::vector<Judged>& runs, const std::vector<ComparedModel>& order) {
  const bool by_loo = std::holds_alternative<Loo>(runs.front().result);
  std::size_t width = 4;
  for (const Judged& run : runs) width = std::max(width, run.folder.size());
  std::string text = fmt::format("{:<{}}{:>11}{:>9}{:>11}{:>9}{:>9}{:>9}\n", "", width, "elpd_diff",
                                 "se_diff", by_loo ? "elpd_loo" : "elpd_waic", "se",
                                 by_loo ? "p_loo" : "p_waic", by_loo ? "k > 0.7" : "p > 0.4");
  for (const ComparedModel& row : order) {
    const Judged& run = runs[row.model];
    const Loo* of_loo = std::get_if<Loo>(&run.result);
    const double p = of_loo ? of_loo->p.value : std::get<Waic>(run.result).p.value;
    const std::size_t doubtful =
        of_loo ? high_k(run, *of_loo).size() : std::get<Waic>(run.result).p_above_limit;
    text += fmt::format("{:<{}}{:>11.1f}{:>9.1f}{:>11.1f}{:>9.1f}{:>9.1f}{:>9}\n", run.folder, width,
                        row.elpd_diff, row.se_diff, run.elpd().value, run.elpd().se, p, doubtful);
  }
  text += "\n";
  const std::string& best = runs[order.front().model].folder;
  for (std::size_t i = 1; i < order.size(); ++i)
    text += sentences(words_on_difference(runs[order[i].model].folder, best, order[i]));
  const std::size_t observations = runs.front().elpds().size();
  if (observations < 100)
    text += fmt::format("With {} observations, standard errors of differences are rough.\n", observations);
  const auto same_words = [&](const Judged& run) { return words_of(run) == words_of(runs.front()); };
  if (std::ranges::all_of(runs, same_words)) return text + sentences(words_of(runs.front()));
  for (const Judged& run : runs) text += sentences(fmt::format("{}: {}", run.folder, words_of(run)));
  return text;
}

ordered_json report_json(const std::vector<Judged>& runs, const std::vector<ComparedModel>& order) {
  ordered_json json{{"criterion", std::holds_alternative<Loo>(runs.front().result) ? "loo" : "waic"}};
  json["models"] = ordered_json::array();
  for (const Judged& run : runs) json["models"].push_back(estimate_json(run));
  if (runs.size() < 2) return json;
  json["comparison"] = ordered_json::array();
  for (const ComparedModel& row : order)
    json["comparison"].push_back(
        {{"folder", runs[row.model].folder}, {"elpd_diff", row.elpd_diff}, {"se_diff", row.se_diff}});
  return json;
}

std::string pointwise_csv(const std::vector<Judged>& runs) {
  const bool by_loo = std::holds_alternative<Loo>(runs.front().result);
  std::string text = by_loo ? "run,observation,elpd_loo,mcse_elpd_loo,p_loo,looic,pareto_k,n_eff\n"
                            : "run,observation,elpd_waic,p_waic,waic\n";
  auto out = std::back_inserter(text);
  for (const Judged& run : runs) {
    const std::string folder = csv_field(run.folder);
    std::size_t i = 0;
    if (const Loo* result = std::get_if<Loo>(&run.result)) {
      for (const LooPoint& point : result->points)
        fmt::format_to(out, "{},{},{},{},{},{},{},{}\n", folder, run.row(i++), point.elpd, point.mcse,
                       point.p, -2 * point.elpd, std::isinf(point.k) ? "Inf" : fmt::format("{}", point.k),
                       point.n_eff);
    } else {
      for (const WaicPoint& point : std::get<Waic>(run.result).points)
        fmt::format_to(out, "{},{},{},{},{}\n", folder, run.row(i++), point.elpd, point.p, -2 * point.elpd);
    }
  }
  return text;
}

}  // namespace onward::app
