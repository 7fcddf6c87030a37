#include "rows.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "onward/data/fingerprint.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"

namespace onward::experiments {
namespace {

using nlohmann::ordered_json;

/// Writes all of it; false if nobody reads any more.
bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}

/// The child's part: lines with its progress, then one with the row or what went wrong.
void work_in_child(const RowJob& job, int out) {
  using Clock = std::chrono::steady_clock;
  ordered_json last;
  try {
    auto told = Clock::now();
    const auto progress = [&](double share) {
      if (Clock::now() - told < std::chrono::milliseconds(200)) return;
      told = Clock::now();
      write_all(out, fmt::format("{}\n", share));
    };
    last["row"] = job.work(progress);
  } catch (const std::exception& problem) {
    last = {{"problem", problem.what()}};
  }
  write_all(out, json_text(last) + "\n");
}

/// What the child said last; nothing if it was stopped.
std::optional<ordered_json> row_by_child(const RowJob& job, const Share& progress,
                                         const std::atomic<bool>& stop) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("cannot make a pipe to a child process");
  const pid_t child = ::fork();
  if (child < 0) throw Error("cannot start a child process: out of memory or of processes");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the parent be killed
    // Nothing of a row that was stopped is kept, so it can end at once.
    for (const int signal_number : {SIGINT, SIGTERM}) std::signal(signal_number, SIG_DFL);
    if (stop) ::_exit(1);  // a signal came while the parent's handler was still in place
    ::close(ends[0]);
    work_in_child(job, ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string line;
  std::optional<ordered_json> result;
  bool told = false;
  for (char buffer[4096];;) {
    if (stop && !told) {
      told = true;
      ::kill(child, SIGTERM);
    }
    // A signal handler may not end a read, so none is begun before there is something to read.
    pollfd waited{ends[0], POLLIN, 0};
    constexpr int milliseconds = 100;
    if (::poll(&waited, 1, milliseconds) <= 0) continue;
    const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[i] != '\n') {
        line += buffer[i];
        continue;
      }
      if (line.starts_with("{"))
        result = ordered_json::parse(line);
      else if (progress)
        progress(std::stod(line));
      line.clear();
    }
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (stop) return std::nullopt;
  if (!result)
    throw Error(fmt::format("the process of {} ended without a result{}", job.name,
                            WIFSIGNALED(status) ? fmt::format(" (signal {})", WTERMSIG(status)) : ""));
  if (result->contains("problem")) throw Error(result->at("problem").get<std::string>());
  return result->at("row");
}

std::filesystem::path row_file(const std::string& folder, const RowJob& job) {
  return std::filesystem::path(folder) / ("row-" + job.name + ".json");
}

std::optional<ordered_json> kept_row(const std::string& folder, const RowJob& job) {
  if (folder.empty()) return std::nullopt;
  std::ifstream in(row_file(folder, job));
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  ordered_json json;
  try {
    json = parse_json<ordered_json>(text.str(), row_file(folder, job).string());
  } catch (const Error&) {
    return std::nullopt;  // damaged: the row is made again
  }
  if (!json.is_object() || !json.contains("row")) return std::nullopt;
  const auto settings = json.value("settings", ordered_json::object());
  if (job.replaces && settings != job.settings) return std::nullopt;
  for (const auto& [key, value] : job.settings.items())
    if (!settings.contains(key) || settings.at(key) != value)
      throw Error(fmt::format(
          "{} was made with {} {}, not {}: give another folder by --out, or --force to make every row anew",
          row_file(folder, job).string(), key, settings.contains(key) ? json_text(settings.at(key)) : "unset",
          json_text(value)));
  if (settings.size() != job.settings.size())
    throw Error(fmt::format(
        "{} was made with other settings ({}): give another folder by --out, or --force to make every row "
        "anew",
        row_file(folder, job).string(), json_text(settings)));
  return json.at("row");
}

}  // namespace

std::optional<ordered_json> make_row(const std::string& folder, const RowJob& job, const Share& progress,
                                     const std::atomic<bool>& stop) {
  if (auto row = kept_row(folder, job)) return row;
  auto row = row_by_child(job, progress, stop);
  if (row && !folder.empty())
    write_file_atomically(row_file(folder, job),
                          json_text(ordered_json{{"settings", job.settings}, {"row", *row}}, 1) + "\n");
  return row;
}

ordered_json data_settings(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return "";
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::ranges::sort(files);
  } else {
    files.emplace_back(path);
  }
  ordered_json json{{"path", path}, {"files", ordered_json::object()}};
  for (const auto& file : files) {
    const Fingerprint found = known_fingerprint(file);
    json["files"][file.filename().string()] = {{"bytes", found.bytes}, {"md5", found.md5}};
  }
  return json;
}

bool has_row(const std::string& folder, const RowJob& job) { return kept_row(folder, job).has_value(); }

double number_from_json(const ordered_json& value) { return value.is_null() ? NAN : value.get<double>(); }

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::optional<double> optional_from_json(const ordered_json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

ordered_json shared_json(const SamplerRow& row) {
  return {{"sampler", row.sampler},
          {"dimension", row.dimension},
          {"step_size", optional_json(row.step_size)},
          {"tuned", row.tuned},
          {"acceptance", row.acceptance},
          {"steps", row.steps},
          {"chains", row.chains},
          {"kept", row.kept},
          {"ms_per_step", row.ms_per_step},
          {"seconds", row.seconds},
          {"peak_rss_bytes", row.peak_bytes}};
}

void read_shared(const ordered_json& json, SamplerRow& row) {
  row.sampler = json.at("sampler");
  row.dimension = json.at("dimension");
  row.step_size = optional_from_json(json.at("step_size"));
  row.tuned = json.at("tuned");
  row.acceptance = number_from_json(json.at("acceptance"));
  row.steps = json.at("steps");
  row.chains = json.at("chains");
  row.kept = json.at("kept");
  row.ms_per_step = json.at("ms_per_step");
  row.seconds = json.at("seconds");
  row.peak_bytes = json.at("peak_rss_bytes");
}

}  // namespace onward::experiments
