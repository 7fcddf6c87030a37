#include "onward/io/run_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// N of chain-N.csv, say; nothing for other names.
std::optional<std::size_t> chain_number(const std::string& name, std::string_view suffix = ".csv") {
  constexpr std::string_view prefix = "chain-";
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const char* const first = name.data() + prefix.size();
  const char* const last = name.data() + name.size() - suffix.size();
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(first, last, number);
  if (error != std::errc{} || end != last || *first == '0') return std::nullopt;
  return number;
}

/// The folder that `onward effects` makes. With anything else in it, it is the user's.
bool is_folder_of_effects(const fs::path& path) {
  std::error_code error;
  if (path.filename() != "effects" || !fs::is_directory(fs::symlink_status(path, error))) return false;
  for (fs::directory_iterator at(path, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const auto ending = at->path().extension();
    if (std::error_code ignored; !at->is_regular_file(ignored) || (ending != ".csv" && ending != ".png"))
      return false;
  }
  return !error;
}

bool made_by_a_run(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "run.json" || name == "summary.json" || name == "draws.nc" ||
         name.starts_with("draws.nc.") || name == "checkpoint" || name == "draws.png" ||
         name == "predictions.npy" || name == "predictions-sd.npy" || name == "predictions.png" ||
         chain_number(name) || chain_number(name, ".npy") || chain_number(name, ".safetensors") ||
         chain_number(name, ".trace") || chain_number(name, ".start") || name == "mean.npy" ||
         name == "warmup.csv" || name == "sd.npy" || name == "report.html" || name == "comparison.html" ||
         name == "check.png" || is_folder_of_effects(file);
}

/// What a run that was killed had not yet given its name: FILE.tmp, FILE.PROCESS.tmp or FILE.part.
bool left_behind(const fs::path& file) {
  if (file.extension() == ".part") return made_by_a_run(file.stem());
  if (file.extension() != ".tmp") return false;
  const fs::path stem = file.stem();
  const std::string process = stem.extension().string();
  const bool numbered = process.size() > 1 && process.find_first_not_of("0123456789", 1) == std::string::npos;
  return made_by_a_run(numbered ? stem.stem() : stem);
}

std::vector<fs::path> files_of(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) || at->is_symlink(ignored) || is_folder_of_effects(at->path()))
      files.push_back(at->path());
  }
  if (error) detail::throw_system_error("read the folder", directory, error.value());
  return files;
}

/// Whether there is anything in the folder besides a lock.
bool has_files(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error))
    if (at->path().filename() != FolderLock::file_name) return true;
  if (error) detail::throw_system_error("read the folder", directory, error.value());
  return false;
}

void check_free(const fs::path& directory, bool force) {
  if (!force && has_files(directory))
    throw Error(
        fmt::format("the folder {} exists already. Choose another `out`, or replace the run in it with "
                    "`force`.",
                    directory.string()));
}

void check_lock(const fs::path& directory) {
  if (FolderLock::holder(directory)) FolderLock{directory};  // says so, unless it is free by now
}

void move_files(const std::vector<fs::path>& files, const fs::path& to) {
  for (const auto& file : files)
    if (const fs::path place = to / file.filename(); ::rename(file.c_str(), place.c_str()) != 0)
      detail::throw_system_error("move", file, errno);
}

std::vector<fs::path> run_files_of(const fs::path& directory) {
  auto files = files_of(directory);
  std::erase_if(files, [](const auto& file) { return !made_by_a_run(file); });
  return files;
}

void remove_files(const std::vector<fs::path>& files) {
  for (const auto& file : files)
    if (std::error_code error; is_folder_of_effects(file))
      fs::remove_all(file, error);
    else if (::unlink(file.c_str()) != 0 && errno != ENOENT)
      detail::throw_system_error("remove", file, errno);
}

/// By whoever has the folder's lock.
void clean(const fs::path& directory) {
  auto files = files_of(directory);
  std::erase_if(files, [](const auto& file) { return !left_behind(file); });
  remove_files(files);
}

}  // namespace

/// The files of the run that a new one is to replace, in a folder within the folder.
/// Two names make a kill harmless at any time: while files go there or come back it is .moving, and the run's
/// files beside it belong to the same run; once all are there it is .replaced, and those beside it are of the
/// new run. Whoever locks the folder next brings the old run back. Once the new run has begun the folder is
/// .removing, and whoever locks the folder next removes it.
class RunFolder::OldRun {
 public:
  explicit OldRun(fs::path directory)
      : directory_(std::move(directory)),
        moving_(directory_ / ".moving"),
        replaced_(directory_ / ".replaced"),
        removing_(directory_ / ".removing") {}

  void set_aside() {
    restore();
    const auto files = run_files_of(directory_);
    if (files.empty()) return;
    if (::mkdir(moving_.c_str(), 0777) != 0) detail::throw_system_error("make the folder", moving_, errno);
    move_files(files, moving_);
    rename(moving_, replaced_);
    detail::sync_folder(directory_);
  }

  void restore() {
    finish_removal();
    if (fs::is_directory(fs::symlink_status(replaced_))) {
      remove_files(run_files_of(directory_));
      rename(replaced_, moving_);
    }
    if (!fs::is_directory(fs::symlink_status(moving_))) return;
    move_files(files_of(moving_), directory_);
    ::rmdir(moving_.c_str());
    detail::sync_folder(directory_);
  }

  /// Under a name of its own, lest a kill before the last file is gone bring back what is left of the run.
  void remove() {
    finish_removal();
    if (!fs::is_directory(fs::symlink_status(replaced_))) return;
    rename(replaced_, removing_);
    finish_removal();
  }

  void finish_removal() {
    if (!fs::is_directory(fs::symlink_status(removing_))) return;
    remove_files(files_of(removing_));
    ::rmdir(removing_.c_str());
  }

 private:
  static void rename(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) detail::throw_system_error("move", from, errno);
  }
  fs::path directory_, moving_, replaced_, removing_;
};

RunFolder::RunFolder(fs::path directory) : directory_(std::move(directory)) {}
RunFolder::RunFolder(RunFolder&& other) noexcept = default;
RunFolder& RunFolder::operator=(RunFolder&& other) noexcept = default;

RunFolder::~RunFolder() {
  if (!old_run_) return;
  try {
    old_run_->restore();
  } catch (
      const std::exception&) {  // NOLINT(bugprone-empty-catch): the next who locks the folder tries again
  }
}

void RunFolder::replace() {
  if (old_run_) old_run_->remove();
  old_run_.reset();
}

void RunFolder::check(const fs::path& directory, bool force) {
  std::error_code error;
  const auto status = fs::status(directory, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status))
      throw Error(fmt::format("{} is a file: a run needs a folder of its own. Choose another `out`.",
                              directory.string()));
    check_free(directory, force);
    check_lock(directory);
  }
  // The nearest folder that is there already must take what is to be made.
  fs::path there = fs::absolute(directory, error).lexically_normal();
  while (!fs::exists(fs::status(there, error)) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) detail::throw_system_error("make the folder", directory, ENOTDIR);
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    detail::throw_system_error("write to the folder", there, errno);
}

RunFolder RunFolder::create(const fs::path& directory, bool force) {
  check(directory, force);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) detail::throw_system_error("make the folder", directory, error.value());
  RunFolder folder(directory);
  folder.lock_.emplace(directory);
  check_free(directory, force);  // another run may have come and gone before the lock
  if (force) {
    clean(directory);
    folder.old_run_ = std::make_unique<OldRun>(directory);
    folder.old_run_->set_aside();
  }
  return folder;
}

RunFolder RunFolder::create_next(const fs::path& name) {
  fs::path directory = name;
  for (std::size_t i = 2;; directory = fmt::format("{}-{}", name.string(), i++)) {
    if (::mkdir(directory.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      detail::throw_system_error("make the folder", directory, errno);
    }
    RunFolder folder(directory);
    try {
      folder.lock_.emplace(directory);
    } catch (const Error&) {
      if (FolderLock::holder(directory)) continue;  // somebody asked for this very name and was faster
      throw;
    }
    if (!has_files(directory)) return folder;
  }
}

RunFolder RunFolder::open(const fs::path& directory) {
  std::error_code error;
  const auto status = fs::status(directory, error);
  if (!fs::exists(status))
    throw Error(fmt::format("there is no folder {}. Check the name.", directory.string()));
  if (!fs::is_directory(status))
    throw Error(fmt::format("{} is not a folder. Give the folder of a run.", directory.string()));
  return RunFolder(directory);
}

RunFolder RunFolder::reopen(const fs::path& directory) {
  RunFolder folder = open(directory);
  folder.lock_.emplace(directory);
  OldRun(directory).restore();
  clean(directory);
  return folder;
}

fs::path RunFolder::chain_csv(std::size_t chain) const {
  return directory_ / fmt::format("chain-{}.csv", chain);
}

std::vector<fs::path> find_chains(const fs::path& directory) {
  RunFolder::open(directory);
  std::vector<std::pair<std::size_t, fs::path>> numbered;
  for (auto& file : files_of(directory))
    if (const auto number = chain_number(file.filename().string()))
      numbered.emplace_back(*number, std::move(file));
  if (numbered.empty())
    throw Error(fmt::format("no chain-1.csv in {}: not the folder of a run, or a run that kept no draws.",
                            directory.string()));
  std::ranges::sort(numbered);
  std::vector<fs::path> files;
  for (auto& [number, file] : numbered) files.push_back(std::move(file));
  return files;
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, std::span(&text, 1));
}

void write_file_atomically(const fs::path& path, std::span<const std::string_view> parts) {
  fs::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  const auto give_up = [&](int error) {
    ::unlink(temporary.c_str());
    detail::throw_system_error("write", path, error);
  };
  const int file = detail::open_for_writing(temporary, false);
  const bool written =
      std::ranges::all_of(parts, [&](auto part) { return detail::write_fully(file, part) == part.size(); }) &&
      ::fsync(file) == 0;
  const int error = errno;
  if (::close(file) != 0 && written) give_up(errno);
  if (!written) give_up(error);
  if (::rename(temporary.c_str(), path.c_str()) != 0) give_up(errno);
  detail::sync_folder(path.parent_path());
}

}  // namespace onward
