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

/// Runs `program` with these words in `folder`; what it prints goes to the file `log`, and it has nothing to
/// read. Returns its exit code, or 128 and the signal that ended it. `tick` is called while it runs; if that
/// throws, or if this process ends, so does the program.
int run_program(const std::filesystem::path& program, const std::vector<std::string>& words,
                const std::filesystem::path& folder, const std::filesystem::path& log,
                const std::function<void()>& tick);

}  // namespace onward::detail
