#pragma once
// One run, one folder: where its files are, and the care that nothing of a user's is overwritten by accident.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace onward {

class RunFolder {
 public:
  /// Makes the folder, with its parents. An existing one is an Error unless `force`; with it the
  /// files that runs make are removed (run.json, summary.json, chain-N.csv, .npy and .safetensors, draws.nc,
  /// checkpoint, draws.png, predictions.npy, predictions-sd.npy) and everything else stays.
  static RunFolder create(const std::filesystem::path& directory, bool force = false);

  /// Throws what create() would, and makes nothing.
  static void check(const std::filesystem::path& directory, bool force = false);

  /// An existing run's folder; Error if it is not there.
  static RunFolder open(const std::filesystem::path& directory);

  const std::filesystem::path& path() const { return directory_; }
  std::filesystem::path run_json() const { return directory_ / "run.json"; }
  std::filesystem::path summary_json() const { return directory_ / "summary.json"; }
  std::filesystem::path checkpoint() const { return directory_ / "checkpoint"; }
  std::filesystem::path netcdf() const { return directory_ / "draws.nc"; }
  /// chain-N.csv, N counted from 1.
  std::filesystem::path chain_csv(std::size_t chain) const;

 private:
  explicit RunFolder(std::filesystem::path directory) : directory_(std::move(directory)) {}
  std::filesystem::path directory_;
};

/// The chain-N.csv files of a folder, by number (chain-2 before chain-10). Error if there is none.
std::vector<std::filesystem::path> find_chains(const std::filesystem::path& directory);

/// Writes a small file as a whole or not at all: to a temporary neighbour, synced, then renamed over.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
/// The same of a file whose parts lie in several places.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> parts);

}  // namespace onward
