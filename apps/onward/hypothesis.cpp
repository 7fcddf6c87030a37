// `onward hypothesis`: what the draws of a run say of hypotheses about its parameters.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "notes.hpp"
#include "onward/diagnostics/hypothesis.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/stored_draws.hpp"
#include "onward/util/printable.hpp"
#include "progress_bar.hpp"
#include "run_notes.hpp"

namespace onward::app {
namespace {

struct Settings {
  std::string folder;
  std::vector<std::string> hypotheses;
  bool json = false, quiet = false;
};

struct Answer {
  std::string text;
  Comparison comparison;
  Hypothesis result;

  bool two_sided() const { return comparison.kind == Comparison::Kind::equal; }
  bool zero_in_90() const { return result.q5 <= 0 && result.q95 >= 0; }
  bool zero_in_95() const { return result.q2_5 <= 0 && result.q97_5 >= 0; }
};

/// Its Monte Carlo error; where all draws agree, the bound on it.
std::string shown_error(const Hypothesis::Belief& belief) {
  return std::isnan(belief.mcse) ? fmt::format("< {:.2g}", belief.bound) : fmt::format("{:.2g}", belief.mcse);
}

/// Where all draws agree, what can be said of the ratio.
std::string shown_ratio(const Hypothesis::Belief& belief) {
  const double most = (1 - belief.bound) / belief.bound;
  if (std::isinf(belief.evidence_ratio)) return fmt::format("> {:.4g}", most);
  if (belief.evidence_ratio == 0) return fmt::format("< {:.2g}", 1 / most);
  return fmt::format("{:.4g}", belief.evidence_ratio);
}

using Row = std::vector<std::string>;

/// Columns as wide as they must be: the first to the left, the others to the right.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], columns_in(row[j]));
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::string blank(widths[j] - columns_in(row[j]), ' ');
      text += j == 0 ? row[j] + blank : "  " + blank + row[j];
    }
    text += "\n";
  }
  return text;
}

std::string number(double x) { return fmt::format("{:.4g}", x); }

/// One-sided hypotheses, then two-sided ones, which have other columns.
std::string tables(const std::vector<Answer>& answers) {
  std::vector<Row> one{
      {"hypothesis", "estimate", "sd", "5%", "95%", "probability", "mcse", "evidence ratio"}};
  std::vector<Row> two{
      {"hypothesis", "estimate", "sd", "2.5%", "5%", "95%", "97.5%", "0 in 90%", "0 in 95%"}};
  for (const Answer& a : answers) {
    const Hypothesis& h = a.result;
    const std::string text = printable(a.text);
    if (h.belief)
      one.push_back({text, number(h.estimate), number(h.sd), number(h.q5), number(h.q95),
                     fmt::format("{:.4f}", h.belief->probability), shown_error(*h.belief),
                     shown_ratio(*h.belief)});
    else
      two.push_back({text, number(h.estimate), number(h.sd), number(h.q2_5), number(h.q5), number(h.q95),
                     number(h.q97_5), a.zero_in_90() ? "yes" : "no", a.zero_in_95() ? "yes" : "no"});
  }
  std::string text = one.size() > 1 ? table(one) : "";
  if (two.size() > 1) text += (text.empty() ? "" : "\n") + table(two);
  return text + "\nestimate: the mean of the left side minus the right\n";
}

nlohmann::ordered_json answer_json(const Answer& a) {
  const Hypothesis& h = a.result;
  nlohmann::ordered_json json{{"hypothesis", a.text}, {"estimate", h.estimate}, {"sd", h.sd},
                              {"mcse_mean", h.mcse},  {"q2_5", h.q2_5},         {"q5", h.q5},
                              {"q95", h.q95},         {"q97_5", h.q97_5}};
  if (h.belief) {
    json["probability"] = h.belief->probability;
    json["mcse_probability"] = h.belief->mcse;
    if (std::isnan(h.belief->mcse)) json["bound_of_error"] = h.belief->bound;
    json["evidence_ratio"] = h.belief->evidence_ratio;
  } else {
    json["zero_in_90"] = a.zero_in_90();
    json["zero_in_95"] = a.zero_in_95();
  }
  return json;
}

int answer(const Settings& s) {
  const auto files = files_of_draws(s.folder);
  ProgressBar bar(s.quiet);
  const StoredDraws stored = read_stored_draws(
      files, [&](std::size_t done) { bar.show_pieces(done, files.size(), "reading: ", "files"); });
  bar.clear();
  std::vector<Answer> answers;
  try {
    for (const std::string& text : s.hypotheses)
      answers.push_back({text, Comparison::parse(text, stored.names), {}});
  } catch (const ExpressionError& problem) {
    // Said here and not by main(), which would put options in place of names in backquotes.
    say("onward: {}\nTry: onward hypothesis --help\n", problem.what());
    return wrong_usage;
  }
  if (!s.quiet) print_doubts(s.folder, stored);
  for (Answer& a : answers) {
    try {
      a.result = judge(a.comparison, stored.column);
    } catch (const Error& problem) {
      throw Error(fmt::format("{}: {}", a.text, problem.what()));
    }
  }
  if (s.json) {
    auto list = nlohmann::ordered_json::array();
    for (const Answer& a : answers) list.push_back(answer_json(a));
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"folder", s.folder},
                                                        {"model", stored.setting("model").value_or("")},
                                                        {"chains", stored.chains},
                                                        {"draws", stored.draws},
                                                        {"hypotheses", list}}));
  } else {
    fmt::print("{}: {} of {}\n\n{}", printable(s.folder), counted(stored.chains, "chain"),
               counted(stored.draws, "draw"), tables(answers));
  }
  return done;
}

}  // namespace

std::vector<std::string> with_hypotheses_apart(std::vector<std::string> typed) {
  const auto is_option = [](const std::string& word) { return word.starts_with("--") || word == "-h"; };
  const auto hides = [&](const std::string& word) { return word.starts_with("-") && !is_option(word); };
  if (typed.empty() || typed.front() != "hypothesis" || std::ranges::none_of(typed, hides) ||
      std::ranges::find(typed, "--") != typed.end())
    return typed;
  // All options of the command are flags, so that they can go first.
  const auto others = std::stable_partition(typed.begin() + 1, typed.end(), is_option);
  typed.insert(others, "--");
  return typed;
}

void add_hypothesis(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command =
      app.add_subcommand("hypothesis", "what the draws of a run say of hypotheses about parameters");
  command->add_option("DIR", s->folder, "the run's folder")->required();
  command
      ->add_option("HYPOTHESIS", s->hypotheses,
                   "such as \"age > 0\" or \"exp(`x1:x2`) = 2 * sigma\": + - * / ^, exp, log, sqrt, abs, one "
                   "of > < >= "
                   "<= =, and parameters as the summary has them, in backquotes where need be")
      ->required();
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no notes or warnings");
  command->callback([s, &action] { action = [s] { return answer(*s); }; });
}

}  // namespace onward::app
