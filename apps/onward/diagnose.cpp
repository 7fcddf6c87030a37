// `onward diagnose`: whether a run can be trusted, and what is wrong with it, in words.

#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_json.hpp"
#include "onward/report/read.hpp"
#include "onward/report/report.hpp"
#include "progress_bar.hpp"
#include "regression_run.hpp"

namespace onward::app {
namespace {

struct Settings {
  std::string folder;
  std::uint64_t threads = 0;
  bool json = false, quiet = false;
};

const char* word_of(report::Verdict::Level level) {
  using enum report::Verdict::Level;
  return level == good ? "good" : level == doubtful ? "doubtful" : "bad";
}

int diagnose(const Settings& s, const CLI::App& sampling) {
  report::Input input = in_words_of(
      sampling, [&] { return report::read_folder(s.folder, {.checks = false, .threads = s.threads}); });
  ProgressBar bar(s.quiet);
  input.parameters = summarise_all(input.names, input.column, s.threads, [&](std::size_t done) {
    bar.show_pieces(done, input.names.size(), "computing the summary: ", "parameters");
  });
  bar.clear();
  const report::Verdict verdict = report::verdict(input, option_words);
  if (s.json) {
    nlohmann::ordered_json out{{"level", word_of(verdict.level)},
                               {"headline", verdict.headline},
                               {"reasons", verdict.reasons},
                               {"notes", input.notes}};
    if (!input.trajectories.empty()) out["trajectories"] = trajectories_json(input.trajectories);
    fmt::print("{}\n", json_text(out));
    return done;
  }
  std::string text = verdict.headline + "\n";
  for (const auto& reason : verdict.reasons) text += "- " + reason + "\n";
  text = printable(text, true);
  fmt::print("{}", isatty(STDOUT_FILENO) != 0 ? wrapped(text, columns_of(STDOUT_FILENO)) : text);
  if (!s.quiet)
    for (const auto& note : input.notes) say("note: {}\n", note);
  return done;
}

}  // namespace

void add_diagnose(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command =
      app.add_subcommand("diagnose", "whether a run can be trusted, and what is wrong with it, in words");
  command->add_option("DIR", s->folder, "the folder of a run")->required();
  command->add_flag("--json", s->json,
                    "one JSON object on stdout: level (good, doubtful or bad), headline, "
                    "reasons, notes");
  add_count(*command, "--threads", s->threads, 0, "0: as many as there are cores");
  command->add_flag("--quiet", s->quiet, "no notes or progress");
  command->callback(
      [s, &app, &action] { action = [s, &app] { return diagnose(*s, *app.get_subcommand("sample")); }; });
}

}  // namespace onward::app
