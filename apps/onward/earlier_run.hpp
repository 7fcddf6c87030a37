#pragma once
// What a run folder says of the run in it: its words for --from and --resume, and the draws to go on from.

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "onward/run/run.hpp"

namespace onward::app {

/// What was typed, with the words of the run that --from or --resume names put before it.
std::vector<std::string> with_earlier_run(const CLI::App& app, std::vector<std::string> typed);

/// The command line that would do the run again: model, then options, as `command`, which is `onward sample`,
/// takes them. What is said after them wins. `exact_draws`: without what would end the run by itself.
std::vector<std::string> words_of_run(const CLI::App& command, const std::filesystem::path& folder,
                                      bool exact_draws);

/// run.json; Error if it is not there or is damaged.
nlohmann::ordered_json read_run_json(const std::filesystem::path& folder);

/// Whether the run in a folder was killed, or failed, before its first checkpoint. Error if it has none for
/// another reason.
bool ended_before_checkpoint(const std::filesystem::path& folder);

/// Error with the field if what a run is now (its model, settings and files) is not what it was, unless it is
/// only longer or has other limits.
void require_same(const std::filesystem::path& folder, const nlohmann::ordered_json& now,
                  const nlohmann::ordered_json& then);

/// Where the run in a folder goes on. `about` is what the run is now: its model, settings and files; Error
/// if the checkpoint is of something else, or damaged.
Resume read_resume(const std::filesystem::path& folder, const nlohmann::ordered_json& about,
                   const std::vector<std::string>& names, const std::vector<std::size_t>& name_indices,
                   bool from_csv);

/// Size and checksum of the file that chains begin at, by its name; an empty object if the word names none.
nlohmann::ordered_json fingerprints_of_start(const std::string& word);

}  // namespace onward::app
