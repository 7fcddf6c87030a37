#pragma once
// What a run folder says of the run in it, for those who do it again or go on with it.

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/run/run.hpp"

namespace onward {

/// run.json; Error if it is not there or is damaged.
nlohmann::ordered_json read_run_json(const std::filesystem::path& folder);

/// Throws Error if the run in a folder kept no draws, or sampled at a temperature other than 1.
void require_posterior_draws(const std::filesystem::path& folder, const nlohmann::ordered_json& run_json);

/// The fields of run.json that say what was kept of the draws, as Recording::to_json() has them.
nlohmann::ordered_json recording_in(const nlohmann::ordered_json& run_json);

/// A text as it is, any other value as JSON.
std::string word_of(const nlohmann::ordered_json& value);

/// Whether the run in a folder was killed, or failed, before its first checkpoint. Error if it has none for
/// another reason.
bool ended_before_checkpoint(const std::filesystem::path& folder);

/// Error with the field if what a run is now (its model, settings, files and recording) is not what it was,
/// unless it is only longer or has other limits.
void require_same(const std::filesystem::path& folder, const nlohmann::ordered_json& now,
                  const nlohmann::ordered_json& then);

/// The files that two runs share by name and not by contents, from "files" of both: sizes and checksums by
/// name.
std::vector<std::string> changed_files(const nlohmann::ordered_json& now, const nlohmann::ordered_json& then);

/// Where the run in a folder goes on. `about` is what the run is now; Error if the checkpoint is of something
/// else, or damaged. `from_csv`: the draws up to there are read from the CSV files.
Resume read_resume(const std::filesystem::path& folder, const nlohmann::ordered_json& about,
                   const std::vector<std::string>& names, const std::vector<std::size_t>& name_indices,
                   bool from_csv);

/// Size and checksum of the file that chains begin at, by its name; an empty object if the word names none.
nlohmann::ordered_json fingerprints_of_start(const std::string& word);

}  // namespace onward
