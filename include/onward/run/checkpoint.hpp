#pragma once
// What a run needs to go on bit for bit: for each chain, the steps it has made and its state as bytes. Stored
// as one file, replaced as a whole, with a version and a checksum.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace onward {

/// One chain at a place from which it can go on. Chains of one checkpoint need not be equally far.
struct ChainCheckpoint {
  std::uint64_t steps = 0;
  std::uint64_t draws = 0;  ///< kept by then: files are cut back to them
  std::string state;        ///< of the chain, of its record and of the sinks
};

struct Checkpoint {
  /// Of the wall clock so far, over all parts of the run.
  struct Seconds {
    double set_up = 0, all = 0;
  };
  std::vector<ChainCheckpoint> chains;
  Seconds seconds = {};
};

/// Writes a checkpoint of what `about` describes (a model's specification and settings): to a temporary
/// neighbour, synced, then renamed over the old one.
void write_checkpoint(const std::filesystem::path& path, const nlohmann::ordered_json& about,
                      const Checkpoint& checkpoint);

struct StoredCheckpoint {
  nlohmann::ordered_json about;
  Checkpoint checkpoint;
};

/// Throws Error, with the file's name, for what is not a whole checkpoint of this version.
StoredCheckpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace onward
