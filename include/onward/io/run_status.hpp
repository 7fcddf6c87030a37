#pragma once
// How a run in a folder stands: what its run.json says, and whether that can still be true.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace onward {

struct RunStatus {
  /// run.json's "status"; "died" if that is "unfinished" while no process writes to the folder.
  std::string word;
  std::optional<std::size_t> draws;  ///< asked for, of each chain

  bool complete() const { return word == "complete"; }
  /// "was interrupted" and so on, to follow "the run".
  std::string words() const;
  bool operator==(const RunStatus&) const = default;
};

/// Nothing for a folder without a run.json; Error if that is damaged.
std::optional<RunStatus> read_run_status(const std::filesystem::path& directory);

}  // namespace onward
