#include "onward/io/run_status.hpp"

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/folder_lock.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "system_file.hpp"

namespace onward {

std::string RunStatus::words() const {
  if (word == "unfinished") return "is still going on";
  if (word == "died") return "ended without a word (killed, say, or the machine stopped)";
  if (word == "interrupted") return "was interrupted";
  if (word == "stopped at the time limit") return "stopped at its time limit";
  return word;  // "failed", "complete", or a word of a later version
}

std::optional<RunStatus> read_run_status(const std::filesystem::path& directory) {
  const auto file = RunFolder::open(directory).run_json();
  if (!std::filesystem::exists(file)) return std::nullopt;
  // Asked first: a run that ends in between has then written its last word.
  const bool alive = FolderLock::holder(directory).has_value();
  const auto json = parse_json(detail::read_whole(file), file.string());
  const auto fail = [&](const char* what) {
    throw Error(fmt::format("{}: damaged, or not a run's: {}", file.string(), what));
  };
  if (!json.is_object()) fail("it holds no object");
  const auto word = json.find("status");
  if (word == json.end() || !word->is_string()) fail("its \"status\" is missing or no text");
  RunStatus status{word->get<std::string>(), std::nullopt};
  if (status.word == "unfinished" && !alive) status.word = "died";
  if (const auto settings = json.find("settings"); settings != json.end() && settings->is_object())
    if (const auto draws = settings->find("draws"); draws != settings->end() && draws->is_number_unsigned())
      status.draws = draws->get<std::size_t>();
  return status;
}

}  // namespace onward
