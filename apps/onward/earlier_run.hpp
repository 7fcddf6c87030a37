#pragma once
// The words of the run in a folder, for --from and --resume.

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace onward::app {

/// What was typed, with the words of the run that --from or --resume names put before it.
std::vector<std::string> with_earlier_run(const CLI::App& app, std::vector<std::string> typed);

/// What is asked for in place of what a run had.
struct Instead {
  bool exact_draws = false;  ///< nothing that would end the run by itself
  std::string sampler = {};  ///< unless it is empty
};

/// The command line that would do the run again: model, then options, as `command`, which
/// samples, takes them. What is said after them wins. Throws Error for a run.json that has what no run has.
std::vector<std::string> words_of_run(const CLI::App& command, const std::filesystem::path& folder,
                                      const Instead& instead);

}  // namespace onward::app
