// `onward report`: a run as one HTML page, or two runs of one model side by side.

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/report/read.hpp"
#include "onward/report/report.hpp"
#include "progress_bar.hpp"
#include "regression_run.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;

struct Settings {
  std::vector<std::string> folders;
  std::string out;
  std::uint64_t threads = 0;
  bool no_checks = false, force = false, quiet = false;
};

/// In the run's own folder unless it is told; a page of our own that is there already is replaced.
fs::path file_of(const Settings& s) {
  if (s.out.empty())
    return fs::path(s.folders.front()) / (s.folders.size() == 1 ? "report.html" : "comparison.html");
  if (fs::path(s.out).extension() != ".html")
    throw UsageError(fmt::format("--out {}: the file's name must end in .html", s.out));
  if (!s.force && fs::exists(s.out))
    throw Error(fmt::format("{} exists already: choose another --out, or replace it with --force", s.out));
  return s.out;
}

int run_report(const Settings& s, const CLI::App& sampling) {
  if (s.folders.size() > 2)
    throw UsageError(
        fmt::format("a report is of one run or compares two, and {} folders were given; `onward loo` "
                    "compares any number of regressions",
                    s.folders.size()));
  const fs::path file = file_of(s);
  const std::atomic<bool>& stop = stop_when_told();
  std::vector<report::Input> runs;
  for (const std::string& folder : s.folders) {
    runs.push_back(in_words_of(sampling, [&] {
      return report::read_folder(folder, {.checks = !s.no_checks, .threads = s.threads, .stop = &stop});
    }));
    if (stop) {
      if (!s.quiet) say("interrupted: nothing was written\n");
      return interrupted;
    }
  }
  if (runs.size() == 2 && runs[0].name == runs[1].name)
    for (std::size_t i = 0; i < 2; ++i) runs[i].name = s.folders[i];
  end_when_told();  // the page is written as a whole or not at all
  ProgressBar bar(s.quiet);
  report::write(
      file, runs,
      {.words = option_words, .threads = s.threads, .progress = [&](std::size_t done, std::size_t of) {
         bar.show_pieces(done, of, "drawing: ", "figures");
       }});
  bar.clear();
  if (!s.quiet) {
    if (const std::string missing = report::missing(); !missing.empty()) say("note: {}\n", missing);
    for (const auto& run : runs)
      for (const auto& note : run.notes) say("note: {}\n", note);
  }
  fmt::print("{}\n", printable(file.string()));
  return done;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand(
      "report", "one HTML page of a run, with a verdict, tables and pictures; or two runs compared");
  command
      ->add_option("DIR", s->folders,
                   "the folder of a run; of two, if they are runs of one model, a comparison")
      ->required();
  command->add_option("--out", s->out, "the file [DIR/report.html, of two runs DIR/comparison.html]")
      ->type_name("FILE.html");
  command->add_flag("--force", s->force, "replace that file");
  command->add_flag(
      "--no-checks", s->no_checks,
      "regressions: without effects, predictive checks and cross-validation, which take the longest");
  add_count(*command, "--threads", s->threads, 0, "0: as many as there are cores");
  command->add_flag("--quiet", s->quiet, "no notes or progress");
  command->callback(
      [s, &app, &action] { action = [s, &app] { return run_report(*s, *app.get_subcommand("sample")); }; });
}

}  // namespace onward::app
