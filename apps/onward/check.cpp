// `onward check`: the data of a regression beside data sets that its draws make up.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/error.hpp"
#include "onward/glm/check.hpp"
#include "onward/io/json.hpp"
#include "onward/plot/check_picture.hpp"
#include "progress_bar.hpp"
#include "regression_run.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using glm::CheckedRows;
using glm::CheckedStatistic;
using glm::PredictiveCheck;
using nlohmann::ordered_json;

struct Settings {
  std::string folder, picture, group;
  std::vector<std::string> statistics;
  std::uint64_t replicates = 1000, seed = 1, threads = 0;
  bool json = false, quiet = false;
};

/// Beyond these the data are said to be out of the model's reach.
constexpr double extreme = 0.01;
bool is_extreme(const CheckedStatistic& statistic) {
  return statistic.p() < extreme || statistic.p() > 1 - extreme;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string row_of(const std::string& level, const CheckedStatistic& statistic, std::size_t level_width,
                   std::size_t name_width) {
  const std::string beside = level_width == 0 ? "" : fmt::format("{:<{}}  ", printable(level), level_width);
  return fmt::format("{}{:<{}}{:>11.4g}{:>11.4g}{:>11.4g}{:>11.4g}{:>8.3f}\n", beside,
                     printable(statistic.name), name_width, statistic.observed, mean_of(statistic.replicated),
                     quantile(statistic.replicated, 0.05), quantile(statistic.replicated, 0.95),
                     statistic.p());
}

/// The statistics of all rows, and of as many levels as a screen has room for.
std::string table_of(const PredictiveCheck& check, const std::string& group) {
  constexpr std::size_t most_lines = 60;
  std::size_t level_width = group.empty() ? 0 : std::max<std::size_t>(group.size(), 8), name_width = 9;
  for (const CheckedRows& part : check.parts) {
    if (!group.empty()) level_width = std::max(level_width, part.level.size());
    for (const auto& statistic : part.statistics) name_width = std::max(name_width, statistic.name.size());
  }
  std::string text =
      fmt::format("{}{:<{}}{:>11}{:>11}{:>11}{:>11}{:>8}\n",
                  level_width == 0 ? "" : fmt::format("{:<{}}  ", printable(group), level_width), "statistic",
                  name_width, "data", "replicated", "5%", "95%", "p");
  std::size_t lines = 0, left_out = 0;
  for (const CheckedRows& part : check.parts)
    for (const auto& statistic : part.statistics) {
      if (++lines > most_lines)
        ++left_out;
      else
        text += row_of(&part == &check.parts.front() ? "all rows" : part.level, statistic, level_width,
                       name_width);
    }
  if (left_out > 0) text += fmt::format("... and {} more, which --json gives\n", counted(left_out, "line"));
  return text;
}

/// What the table comes to.
std::string verdict(const PredictiveCheck& check) {
  std::string text;
  for (const CheckedStatistic& statistic : check.parts.front().statistics)
    if (is_extreme(statistic))
      text += fmt::format(
          "The {} of the data is {} than in nearly all replicated data sets: the model does not "
          "account for it.\n",
          statistic.name == "zeros" ? "share of zeros" : statistic.name,
          statistic.p() < 0.5 ? "higher" : "lower");
  if (text.empty()) text = "The data are within what the model predicts, as far as these statistics tell.\n";
  if (check.parts.size() == 1) return text;
  std::size_t all = 0, beyond = 0;
  for (std::size_t i = 1; i < check.parts.size(); ++i)
    for (const auto& statistic : check.parts[i].statistics) {
      ++all;
      beyond += is_extreme(statistic) ? 1 : 0;
    }
  return text + fmt::format(
                    "By levels, {} of {} statistics have p below {} or above {}; about {:.1f} would by "
                    "chance.\n",
                    beyond, all, extreme, 1 - extreme, 2 * extreme * static_cast<double>(all));
}

/// The rows of one part in a picture.
plot::CheckedValues values_of(const PredictiveCheck& check, std::size_t part, std::string title) {
  plot::CheckedValues values{.title = std::move(title)};
  const auto take = [&](const std::vector<double>& from) {
    std::vector<double> some;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (part == 0 || check.part[i] == part) some.push_back(from[i]);
    return some;
  };
  values.y = take(check.y);
  for (const auto& one : check.replicated) values.replicated.push_back(take(one));
  return values;
}

void draw(const std::string& file, const PredictiveCheck& check, const std::string& group) {
  plot::CheckPicture picture{.response = check.response, .bars = check.whole, .classes = check.classes};
  if (check.parts.size() == 1) {
    picture.distributions.push_back(values_of(check, 0, "distribution"));
    for (const auto& statistic : check.parts.front().statistics)
      picture.statistics.push_back({statistic.name, statistic.observed, statistic.replicated,
                                    fmt::format("p = {:.3f}", statistic.p())});
    return plot::check_picture(file, picture);
  }
  // The distribution in the levels with the most rows, if they are enough to have one, and the statistics of
  // all levels.
  constexpr std::size_t most_distributions = 6, least_rows = 20, most_levels = 60;
  std::vector<std::size_t> order(check.parts.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{1});
  std::erase_if(order, [&](std::size_t part) { return check.parts[part].rows < least_rows; });
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return check.parts[a].rows > check.parts[b].rows; });
  if (order.size() > most_distributions) order.resize(most_distributions);
  std::ranges::sort(order);
  for (const std::size_t part : order)
    if (auto values = values_of(check, part, fmt::format("{} = {}", group, check.parts[part].level));
        !values.y.empty())
      picture.distributions.push_back(std::move(values));
  const std::size_t levels = std::min(check.parts.size() - 1, most_levels);
  for (std::size_t i = 1; i <= levels; ++i) picture.levels.push_back(check.parts[i].level);
  for (std::size_t k = 0; k < check.parts.front().statistics.size(); ++k) {
    plot::StatisticByLevel& by_level =
        picture.by_level.emplace_back(plot::StatisticByLevel{check.parts.front().statistics[k].name});
    for (std::size_t i = 1; i <= levels; ++i) {
      const CheckedStatistic& statistic = check.parts[i].statistics[k];
      by_level.observed.push_back(statistic.observed);
      by_level.low.push_back(quantile(statistic.replicated, 0.05));
      by_level.high.push_back(quantile(statistic.replicated, 0.95));
    }
  }
  plot::check_picture(file, picture);
}

ordered_json report_json(const Settings& s, const PredictiveCheck& check, const std::string& picture) {
  auto list = ordered_json::array();
  for (const CheckedRows& part : check.parts)
    for (const auto& statistic : part.statistics) {
      const bool whole = &part == &check.parts.front();
      list.push_back({{"level", whole ? ordered_json(nullptr) : ordered_json(part.level)},
                      {"rows", part.rows},
                      {"statistic", statistic.name},
                      {"observed", statistic.observed},
                      {"mean", mean_of(statistic.replicated)},
                      {"q5", quantile(statistic.replicated, 0.05)},
                      {"q50", quantile(statistic.replicated, 0.5)},
                      {"q95", quantile(statistic.replicated, 0.95)},
                      {"p", statistic.p()}});
    }
  return {{"folder", s.folder},
          {"response", check.response},
          {"rows", check.rows},
          {"replicates", check.replicates},
          {"seed", s.seed},
          {"group", s.group.empty() ? ordered_json(nullptr) : ordered_json(s.group)},
          {"statistics", std::move(list)},
          {"picture", picture.empty() ? ordered_json(nullptr) : ordered_json(picture)}};
}

/// Where the picture goes; nowhere if none is wanted.
std::string picture_file(const Settings& s) {
  if (s.picture == "none") return "";
  if (s.picture.empty()) return (fs::path(s.folder) / "check.png").string();
  if (const auto ending = fs::path(s.picture).extension(); ending != ".png" && ending != ".svg")
    throw UsageError(
        fmt::format("--picture {}: the file's name must end in .png or .svg, or be none", s.picture));
  return s.picture;
}

int run_check(const Settings& s, const CLI::App& sampling) {
  const std::string picture = picture_file(s);
  const std::atomic<bool>& stop = stop_when_told();
  const RegressionRun run = read_regression_run(s.folder, true, s.quiet);
  ProgressBar bar(s.quiet);
  const glm::CheckOptions options{
      .statistics = s.statistics,
      .group = s.group,
      .replicates = s.replicates,
      .seed = s.seed,
      .threads = s.threads,
      .stop = &stop,
      .progress = [&](std::size_t rows, std::size_t of) { bar.show_pieces(rows, of, "", "rows"); }};
  const auto check = in_words_of(sampling, [&] {
    return glm::predictive_check(run.fitted, read_as_fitted(run.fitted, ""), run.draws, options);
  });
  bar.clear();
  if (!check) {
    if (!s.quiet) say("interrupted: there is no result, and nothing was written\n");
    return interrupted;
  }
  if (!picture.empty()) draw(picture, *check, s.group);
  if (!s.quiet)
    for (const auto& note : check->notes) say("note: {}\n", note);
  if (s.json)
    fmt::print("{}\n", json_text(report_json(s, *check, picture)));
  else
    fmt::print("{}: {} of {}, and {} replicated by the model\n\n{}\n{}{}", printable(s.folder),
               counted(check->rows, "row"), printable(check->response),
               counted(check->replicates, "data set"), table_of(*check, s.group), verdict(*check),
               picture.empty() ? "" : fmt::format("picture: {}\n", printable(picture)));
  return done;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand(
      "check", "the data of a regression beside data sets that its draws make up, in figures and a picture");
  command->add_option("DIR", s->folder, "the folder of a run of `onward glm`")->required();
  command
      ->add_option("--statistic", s->statistics,
                   fmt::format("of {}, by commas [those that suit the response]",
                               fmt::join(glm::check_statistics(), ", ")))
      ->delimiter(',')
      ->type_name("NAME");
  command->add_option("--group", s->group, "a column of the data: statistics also for each of its values")
      ->type_name("COLUMN");
  command->add_option("--picture", s->picture, "the file, .png or .svg, or none [DIR/check.png]")
      ->type_name("FILE");
  add_count(*command, "--replicates", s->replicates, 1, "data sets that are made up, one from a draw");
  add_count(*command, "--seed", s->seed, 0, "of the data sets");
  add_count(*command, "--threads", s->threads, 0, "0: as many as there are cores");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no notes, warnings or progress");
  command->callback(
      [s, &app, &action] { action = [s, &app] { return run_check(*s, *app.get_subcommand("glm")); }; });
}

}  // namespace onward::app
