#pragma once
// The words of the run in a folder, for --from and --resume.

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace onward::app {

/// What was typed, with the words of the run that --from or --resume names put before it.
std::vector<std::string> with_earlier_run(const CLI::App& app, std::vector<std::string> typed);

/// The command line that would do the run again: model, then options, as `command`, which is `onward sample`,
/// takes them. What is said after them wins. `exact_draws`: without what would end the run by itself.
std::vector<std::string> words_of_run(const CLI::App& command, const std::filesystem::path& folder,
                                      bool exact_draws);

}  // namespace onward::app
