#pragma once
// One run, one folder: where its files are, and the care that nothing of a user's is overwritten by accident
// and that no two runs write to one folder at a time.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "onward/io/folder_lock.hpp"

namespace onward {

class RunFolder {
 public:
  /// Makes the folder, with its parents, and locks it for as long as this object lives. An existing one that
  /// has files is an Error unless `force`; with it the files that runs make (run.json, summary.json,
  /// chain-N.csv, .npy and .safetensors, draws.nc, draws.nc.chain-N, checkpoint, draws.png,
  /// predictions.npy, predictions-sd.npy, predictions.png, warmup.csv) are set aside until replace(); all
  /// else stays. A folder that another run is writing to is an Error.
  [[nodiscard]] static RunFolder create(const std::filesystem::path& directory, bool force = false);

  /// Makes and locks the first of NAME, NAME-2, NAME-3, ... that is not there yet, also if several ask at
  /// once.
  [[nodiscard]] static RunFolder create_next(const std::filesystem::path& name);

  /// Throws what create() would, and makes nothing.
  static void check(const std::filesystem::path& directory, bool force = false);

  /// An existing run's folder, to read; Error if it is not there.
  static RunFolder open(const std::filesystem::path& directory);

  /// An existing run's folder, to go on writing to: locked as by create(). Nothing is removed but
  /// what a killed run had begun to write and not finished.
  [[nodiscard]] static RunFolder reopen(const std::filesystem::path& directory);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&& other) noexcept;
  /// Without a replace() the run that create() set aside comes back, in place of the new one.
  ~RunFolder();

  /// The new run has begun: the one that was set aside is removed for good.
  void replace();

  const std::filesystem::path& path() const { return directory_; }
  std::filesystem::path run_json() const { return directory_ / "run.json"; }
  std::filesystem::path summary_json() const { return directory_ / "summary.json"; }
  std::filesystem::path checkpoint() const { return directory_ / "checkpoint"; }
  std::filesystem::path netcdf() const { return directory_ / "draws.nc"; }
  /// chain-N.csv, N counted from 1.
  std::filesystem::path chain_csv(std::size_t chain) const;

 private:
  class OldRun;
  explicit RunFolder(std::filesystem::path directory);
  std::filesystem::path directory_;
  std::optional<FolderLock> lock_;   // of those who write
  std::unique_ptr<OldRun> old_run_;  // behind the lock: it comes back while that is held
};

/// The chain-N.csv files of a folder, by number (chain-2 before chain-10). Error if there is none.
std::vector<std::filesystem::path> find_chains(const std::filesystem::path& directory);

/// Writes a small file as a whole or not at all: to a temporary neighbour, synced, then renamed over.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
/// The same of a file whose parts lie in several places.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> parts);

}  // namespace onward
