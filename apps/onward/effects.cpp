// `onward effects`: the expected response over each predictor of a regression, as figures and pictures.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "csv_words.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/glm/effects.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/plot/effect_picture.hpp"
#include "regression_run.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using glm::Effect;
using glm::EffectSeries;
using glm::PredictedRow;

struct Settings {
  std::string folder, out;
  std::vector<std::string> terms;
  double interval = 0.9;
  std::uint64_t threads = 0;
  bool json = false, quiet = false;
};

/// A file's name from a term: letters, digits and little else.
std::string file_stem(const std::string& term, std::set<std::string>& taken) {
  std::string stem;
  for (const char c : term) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    stem += plain ? c : '-';
  }
  std::string name = stem;
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", stem, i);
  return name;
}

std::string place_word(const Effect& effect, std::size_t i) {
  return effect.levels.empty() ? fmt::format("{:.8g}", effect.places[i]) : csv_text(effect.levels[i]);
}

std::string effect_csv(const Effect& effect, const std::vector<std::string>& quantiles) {
  const bool classes = !effect.series.front().class_name.empty();
  std::string text = csv_text(effect.variable);
  if (!effect.by.empty()) text += "," + csv_text(effect.by);
  text += fmt::format("{},mean,sd,{}\n", classes ? ",class" : "", fmt::join(quantiles, ","));
  for (const EffectSeries& series : effect.series)
    for (std::size_t i = 0; i < series.rows.size(); ++i) {
      text += place_word(effect, i);
      if (!effect.by.empty()) text += "," + csv_text(series.by);
      if (classes) text += "," + csv_text(series.class_name);
      text += fmt::format(",{:.8g},{:.8g}", series.rows[i].mean, series.rows[i].sd);
      for (const double q : series.rows[i].quantiles) text += fmt::format(",{:.8g}", q);
      text += "\n";
    }
  return text;
}

nlohmann::ordered_json effect_json(const Effect& effect, const std::vector<std::string>& quantiles) {
  auto rows = nlohmann::ordered_json::array();
  for (const EffectSeries& series : effect.series)
    for (std::size_t i = 0; i < series.rows.size(); ++i) {
      nlohmann::ordered_json row;
      if (effect.levels.empty())
        row["at"] = effect.places[i];
      else
        row["at"] = effect.levels[i];
      if (!effect.by.empty()) row["by"] = series.by;
      if (!series.class_name.empty()) row["class"] = series.class_name;
      row["mean"] = series.rows[i].mean;
      row["sd"] = series.rows[i].sd;
      for (std::size_t q = 0; q < quantiles.size(); ++q) row[quantiles[q]] = series.rows[i].quantiles[q];
      rows.push_back(std::move(row));
    }
  return {{"term", effect.term},
          {"variable", effect.variable},
          {"by", effect.by.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(effect.by)},
          {"held", effect.held},
          {"rows", std::move(rows)}};
}

void draw(const fs::path& file, const Effect& effect, const std::string& response, double interval) {
  plot::EffectPicture picture{.x_label = effect.variable,
                              .y_label = response,
                              .heading = fmt::format("mean and {:.4g}% interval", 100 * interval),
                              .places = effect.places,
                              .levels = effect.levels};
  constexpr std::size_t most_lines = 8;  // that colours can tell apart
  for (const EffectSeries& series : effect.series) {
    if (picture.lines.size() == most_lines) break;
    plot::EffectLine& line = picture.lines.emplace_back();
    if (!effect.by.empty()) line.label = fmt::format("{} = {}", effect.by, series.by);
    if (!series.class_name.empty())
      line.label += (line.label.empty() ? "" : ", ") + fmt::format("{} = {}", response, series.class_name);
    for (const PredictedRow& row : series.rows) {
      line.middle.push_back(row.mean);
      line.low.push_back(row.quantiles.front());
      line.high.push_back(row.quantiles.back());
    }
  }
  plot::effect_picture(file.string(), picture);
}

/// One line for each effect: from where to where it goes, and where it is written.
std::string line_of(const Effect& effect, const fs::path& csv) {
  const auto& rows = effect.series.front().rows;
  const auto shown = [&](std::size_t i) {
    return fmt::format("{:.4g} ({:.4g} to {:.4g}) at {}", rows[i].mean, rows[i].quantiles.front(),
                       rows[i].quantiles.back(),
                       effect.levels.empty() ? fmt::format("{:.4g}", effect.places[i]) : effect.levels[i]);
  };
  std::string text = fmt::format("{}: {}", effect.term, shown(0));
  if (rows.size() > 1) text += fmt::format(", {}", shown(rows.size() - 1));
  if (effect.series.size() > 1)
    text += fmt::format(", and {} more", counted(effect.series.size() - 1, "line"));
  if (!effect.held.empty()) text += fmt::format("; {}", effect.held);
  return fmt::format("{}\n  {}\n", text, csv.string());
}

int run_effects(const Settings& s) {
  if (!(s.interval > 0 && s.interval < 1))
    throw UsageError(
        fmt::format("--interval is {}: it is a probability between 0 and 1, such as 0.9", s.interval));
  const RegressionRun run = read_regression_run(s.folder, true, s.quiet);
  const double tail = (1 - s.interval) / 2;
  const glm::EffectOptions options{
      .terms = s.terms, .probabilities = {tail, 0.5, 1 - tail}, .threads = s.threads};
  const auto effects =
      glm::conditional_effects(run.fitted, read_as_fitted(run.fitted, ""), run.draws, options);
  const fs::path out = s.out.empty() ? fs::path(s.folder) / "effects" : fs::path(s.out);
  std::error_code problem;
  fs::create_directories(out, problem);
  if (problem)
    throw Error(fmt::format("the folder {} cannot be made ({}): choose another --out", out.string(),
                            problem.message()));
  const auto quantiles = quantile_names(options.probabilities);
  const std::string response =
      run.fitted.state.value(nlohmann::ordered_json::json_pointer("/response/name"), std::string("y"));
  auto list = nlohmann::ordered_json::array();
  std::string text;
  std::set<std::string> taken;
  for (const Effect& effect : effects) {
    const std::string stem = file_stem(effect.term, taken);
    const fs::path csv = out / (stem + ".csv"), png = out / (stem + ".png");
    write_file_atomically(csv, effect_csv(effect, quantiles));
    draw(png, effect, response, s.interval);
    text += line_of(effect, csv);
    auto entry = effect_json(effect, quantiles);
    entry["csv"] = csv.string();
    entry["picture"] = png.string();
    list.push_back(std::move(entry));
  }
  if (s.json)
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"folder", s.folder},
                                                        {"response", response},
                                                        {"interval", s.interval},
                                                        {"effects", std::move(list)}}));
  else
    fmt::print("the expected {} over each predictor, the others held; a picture beside each file\n\n{}",
               printable(response), printable(text, true));
  return done;
}

}  // namespace

void add_effects(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand(
      "effects", "the expected response over each predictor of a regression, in figures and pictures");
  command->add_option("DIR", s->folder, "the folder of a run of `onward glm`")->required();
  command->add_option("TERM", s->terms,
                      "predictors, or two of them as x:f [all, and pairs that the formula has]");
  add_number(*command, "--interval", s->interval, "probability of the intervals");
  command->add_option("--out", s->out, "the folder for figures and pictures [DIR/effects]")->type_name("DIR");
  add_count(*command, "--threads", s->threads, 0, "0: as many as there are cores");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the lines");
  command->add_flag("--quiet", s->quiet, "no notes or warnings");
  command->callback([s, &action] { action = [s] { return run_effects(*s); }; });
}

}  // namespace onward::app
