// `onward predict`: what the draws of a regression say of new rows.

#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "csv_words.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/npy_rows.hpp"
#include "onward/io/run_folder.hpp"
#include "progress_bar.hpp"
#include "regression_run.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using glm::PredictedRow;
using glm::Predictions;

struct Settings {
  std::string folder, data, out, draws;
  std::string what = "fitted", new_levels = "refuse";
  double interval = 0.9;
  std::uint64_t seed = 1, threads = 0;
  bool json = false, force = false, quiet = false;
};

/// Every draw of every row, in a file that is there when it is complete.
class DrawsFile {
 public:
  DrawsFile(fs::path path, std::size_t draws) : path_(std::move(path)), part_(path_.string() + ".part") {
    fs::remove(part_);
    if (path_.extension() == ".npy") {
      npy_.emplace(part_, draws);
    } else {
      text_.open(part_);
      for (std::size_t s = 0; s < draws; ++s) text_ << (s > 0 ? "," : "") << "draw." << s + 1;
      text_ << "\n";
    }
  }
  ~DrawsFile() {
    std::error_code ignored;
    fs::remove(part_, ignored);
  }

  void append(std::span<const double> row) {
    if (npy_) return npy_->append(row);
    std::string line;
    for (const double x : row) line += fmt::format("{}{}", line.empty() ? "" : ",", x);
    text_ << line << "\n";
  }
  void finish() {
    if (npy_) {
      npy_->sync();
      npy_.reset();
    } else {
      text_.close();
      if (!text_)
        throw Error(fmt::format("{} cannot be written: see whether the folder is there and the disk has room",
                                path_.string()));
    }
    fs::rename(part_, path_);
  }

 private:
  fs::path path_, part_;
  std::optional<NpyRowWriter> npy_;
  std::ofstream text_;
};

/// Lines of CSV or entries of JSON, one for each row of the data and each class. Rows that were left out for
/// missing values are there too, without figures.
class Report {
 public:
  Report(const Predictions& predictions, std::size_t table_rows, const std::vector<double>& probabilities,
         bool json)
      : predictions_(predictions),
        table_rows_(table_rows),
        quantiles_(quantile_names(probabilities)),
        json_(json) {}

  std::string header() const {
    return fmt::format("row,{}mean,sd,{}\n", predictions_.classes().empty() ? "" : "class,",
                       fmt::join(quantiles_, ","));
  }
  void add(std::size_t first, std::span<const PredictedRow> rows) {
    const std::size_t each = predictions_.numbers_per_row();
    const auto& place = predictions_.frame().table_rows;
    for (std::size_t i = 0; i < rows.size() / each; ++i) {
      add_missing(place.empty() ? first + i : place[first + i]);
      for (std::size_t k = 0; k < each; ++k) add_row(k, &rows[i * each + k]);
      ++next_;
    }
  }
  void finish() { add_missing(table_rows_); }
  std::string take_text() { return std::exchange(text_, {}); }
  const nlohmann::ordered_json& list() const { return list_; }

 private:
  void add_missing(std::size_t end) {
    for (; next_ < end; ++next_)
      for (std::size_t k = 0; k < predictions_.numbers_per_row(); ++k) add_row(k, nullptr);
  }
  void add_row(std::size_t k, const PredictedRow* row) {
    const auto& classes = predictions_.classes();
    if (json_) {
      nlohmann::ordered_json entry{{"row", next_ + 1}};
      if (!classes.empty()) entry["class"] = classes[k];
      entry["mean"] = row != nullptr ? nlohmann::ordered_json(row->mean) : nullptr;
      entry["sd"] = row != nullptr ? nlohmann::ordered_json(row->sd) : nullptr;
      for (std::size_t q = 0; q < quantiles_.size(); ++q)
        entry[quantiles_[q]] = row != nullptr ? nlohmann::ordered_json(row->quantiles[q]) : nullptr;
      list_.push_back(std::move(entry));
      return;
    }
    text_ += fmt::format("{}", next_ + 1);
    if (!classes.empty()) text_ += "," + csv_text(classes[k]);
    const auto number = [&](double x) { return row != nullptr ? fmt::format(",{:.8g}", x) : ",NA"; };
    text_ += number(row != nullptr ? row->mean : 0) + number(row != nullptr ? row->sd : 0);
    for (std::size_t q = 0; q < quantiles_.size(); ++q)
      text_ += number(row != nullptr ? row->quantiles[q] : 0);
    text_ += "\n";
  }

  const Predictions& predictions_;
  std::size_t table_rows_, next_ = 0;
  std::vector<std::string> quantiles_;
  bool json_;
  std::string text_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
};

void check(const Settings& s) {
  if (!(s.interval > 0 && s.interval < 1))
    throw UsageError(
        fmt::format("--interval is {}: it is a probability between 0 and 1, such as 0.9", s.interval));
  if (s.new_levels != "refuse" && s.new_levels != "draw")
    throw UsageError(fmt::format("--new-levels {} is not known: it is refuse or draw", s.new_levels));
  if (const auto ending = fs::path(s.draws).extension();
      !s.draws.empty() && ending != ".npy" && ending != ".csv")
    throw UsageError(fmt::format("--draws {}: the file's name must end in .npy or .csv", s.draws));
  for (const auto& [option, file] : {std::pair{"--out", s.out}, {"--draws", s.draws}})
    if (!file.empty() && !s.force && fs::exists(file))
      throw Error(
          fmt::format("{} exists already: choose another {}, or replace it with --force", file, option));
}

int run_predict(const Settings& s, const CLI::App& sampling) {
  const glm::PredictionOptions::What what = glm::parse_what(s.what);
  check(s);
  const std::atomic<bool>& stop = stop_when_told();
  const RegressionRun run = read_regression_run(s.folder, s.data.empty(), s.quiet);
  const Table table = read_as_fitted(run.fitted, s.data);
  const double tail = (1 - s.interval) / 2;
  const glm::PredictionOptions options{.what = what,
                                       .draw_new_levels = s.new_levels == "draw",
                                       .seed = s.seed,
                                       .probabilities = {tail, 0.5, 1 - tail},
                                       .threads = s.threads};
  const Predictions predictions =
      in_words_of(sampling, [&] { return Predictions(run.fitted, table, run.draws, options); });
  if (!s.quiet) {
    for (const auto& note : table.notes()) say("note: {}\n", note);
    for (const auto& note : predictions.notes()) say("note: {}\n", note);
  }
  Report report(predictions, table.rows(), options.probabilities, s.json);
  std::optional<DrawsFile> draws;
  if (!s.draws.empty()) draws.emplace(s.draws, predictions.draws());
  ProgressBar bar(s.quiet);
  predictions.each_block(
      [&](std::size_t first, std::span<const PredictedRow> rows, std::span<const double> all) {
        report.add(first, rows);
        if (draws)
          for (std::size_t i = 0; i < rows.size(); ++i)
            draws->append(all.subspan(i * predictions.draws(), predictions.draws()));
        bar.show_pieces(first + rows.size() / predictions.numbers_per_row(), predictions.rows(), "", "rows");
        return !stop;
      });
  bar.clear();
  if (stop) {
    if (!s.quiet) say("interrupted: nothing was written\n");
    return interrupted;
  }
  report.finish();
  if (draws) draws->finish();
  if (s.json) {
    const nlohmann::ordered_json json{{"folder", s.folder},           {"what", s.what},
                                      {"interval", s.interval},       {"seed", s.seed},
                                      {"draws", predictions.draws()}, {"rows", report.list()}};
    fmt::print("{}\n", json_text(json));
    return done;
  }
  const std::string csv = report.header() + report.take_text();
  if (s.out.empty())
    fmt::print("{}", csv);
  else
    write_file_atomically(s.out, csv);
  return done;
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand("predict", "what the draws of a regression say of new rows");
  command->add_option("DIR", s->folder, "the folder of a run of `onward glm`")->required();
  command
      ->add_option("--data", s->data, "the new rows, as CSV; the response need not be there [the run's own]")
      ->type_name("FILE");
  command
      ->add_option("--what", s->what,
                   "fitted: the expected response; predictive: draws of the response; linear: the predictor")
      ->capture_default_str()
      ->type_name("WORD");
  add_number(*command, "--interval", s->interval, "probability of the interval whose ends are given");
  command->add_option("--draws", s->draws, "also write every draw: a line for each row; .npy or .csv")
      ->type_name("FILE");
  command
      ->add_option("--new-levels", s->new_levels,
                   "levels of groups that the run has not seen: refuse them, or draw their effects")
      ->capture_default_str()
      ->type_name("WORD");
  add_count(*command, "--seed", s->seed, 0, "of predictive draws and new levels");
  add_count(*command, "--threads", s->threads, 0, "0: as many as there are cores");
  command->add_option("--out", s->out, "the CSV file to write [stdout]")->type_name("FILE");
  command->add_flag("--force", s->force, "replace files that are there");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of CSV");
  command->add_flag("--quiet", s->quiet, "no notes, warnings or progress");
  command->callback(
      [s, &app, &action] { action = [s, &app] { return run_predict(*s, *app.get_subcommand("glm")); }; });
}

}  // namespace onward::app
