#include "onward/io/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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

bool made_by_a_run(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "run.json" || name == "summary.json" || name == "draws.nc" || name == "checkpoint" ||
         name == "draws.png" || name == "predictions.npy" || name == "predictions-sd.npy" ||
         chain_number(name) || chain_number(name, ".npy") || chain_number(name, ".safetensors");
}

std::vector<fs::path> files_of(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) || at->is_symlink(ignored)) files.push_back(at->path());
  }
  if (error) detail::throw_system_error("read the folder", directory, error.value());
  return files;
}

void sync_folder(const fs::path& directory) {
  // The new name is on disk once its folder is. Some file systems cannot be asked; nothing is lost then.
  const int folder = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

void RunFolder::check(const fs::path& directory, bool force) {
  std::error_code error;
  const auto status = fs::status(directory, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status))
      throw Error(fmt::format("{} is a file: a run needs a folder of its own. Choose another --out.",
                              directory.string()));
    if (!force)
      throw Error(
          fmt::format("the folder {} exists already. Choose another --out, or replace the run in it with "
                      "--force.",
                      directory.string()));
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
  if (fs::exists(fs::status(directory, error))) {
    for (const auto& file : files_of(directory))
      if (made_by_a_run(file) && !fs::remove(file, error) && error)
        detail::throw_system_error("remove", file, error.value());
  } else {
    fs::create_directories(directory, error);
    if (error) detail::throw_system_error("make the folder", directory, error.value());
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    detail::throw_system_error("write to the folder", directory, errno);
  return RunFolder(directory);
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
  sync_folder(path.parent_path());
}

}  // namespace onward
