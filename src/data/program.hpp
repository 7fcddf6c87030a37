#pragma once
// Other programs, started by their words: no shell reads them, so that no name can be taken for a command.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace onward::detail {

/// Where PATH has a program of that name.
std::optional<std::filesystem::path> find_program(const std::string& name);

struct ProgramEnd {
  int code = 0;      ///< exit code, or 128 and the signal that ended it
  std::string said;  ///< all that it printed
};

/// Runs `program` with these words in `folder`; it has nothing to read. `tick` is called while it runs; if
/// that throws, or if this process ends, so does the program.
ProgramEnd run_program(const std::filesystem::path& program, const std::vector<std::string>& words,
                       const std::filesystem::path& folder, const std::function<void()>& tick);

}  // namespace onward::detail
