#pragma once
// What a run folder says of the run in it: its words for --from and --resume, and the draws to go on from.

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/run/run.hpp"

namespace onward::app {

/// What was typed, with the words of the run that --from or --resume names put before it.
std::vector<std::string> with_earlier_run(std::vector<std::string> typed);

/// The command line that would do the run again: model, then options, as `onward sample` takes them. What is
/// said after them wins. Throws Error if run.json is not there or is damaged.
std::vector<std::string> words_of_run(const std::filesystem::path& folder);

/// run.json itself.
nlohmann::ordered_json read_run_json(const std::filesystem::path& folder);

/// Where the run in a folder goes on. `about` is what the run is now: its model, settings and files; Error
/// with the field if the checkpoint is of something else, unless it is only longer or has other limits.
Resume read_resume(const std::filesystem::path& folder, const nlohmann::ordered_json& about,
                   const std::vector<std::string>& names, const std::vector<std::size_t>& name_indices,
                   bool from_csv);

/// Size and checksum of the file that chains begin at, by its name; an empty object if the word names none.
nlohmann::ordered_json fingerprints_of_start(const std::string& word);

}  // namespace onward::app
