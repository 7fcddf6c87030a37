#pragma once
// run.json: everything needed to do a run again, and how it stands. This is the one place that writes it.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/io/run_folder.hpp"
#include "onward/run/run.hpp"

namespace onward::detail {

struct RunDescription {
  nlohmann::ordered_json model, settings, files, recording;
  std::size_t dimension;
  const std::vector<std::string>& names;
  const std::vector<std::size_t>& name_indices;
  nlohmann::ordered_json found = {};  ///< how settings were found
};

nlohmann::ordered_json run_json(const RunDescription& run);
void write_run_json(const RunFolder& folder, nlohmann::ordered_json json, const std::string& status);

/// Puts another status into the file that is there, in its place: that takes no room on a disk that is full.
/// False if it cannot be done, as for a word that is longer than the one before.
bool overwrite_status(const RunFolder& folder, const std::string& status);

/// warmup.csv: how warm-up went in each chain, where something was adapted.
void write_warmup(const RunFolder& folder, const Run& run);

/// What run.json says of a run that ended so.
const char* status_word(Ending ending);

}  // namespace onward::detail
