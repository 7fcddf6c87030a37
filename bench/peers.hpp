#pragma once
// Programs that are measured beside ours where they are installed: scripts of this folder, run by Debian's
// Python or R. A script prints one line of JSON, or {"missing": why}.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace onward::bench {

/// Runs `interpreter SCRIPT arguments...`, SCRIPT being in this folder. Without a result a note goes to
/// stderr and std::nullopt is returned.
std::optional<nlohmann::json> run_peer(const std::string& interpreter, const std::string& script,
                                       const std::vector<std::string>& arguments);

}  // namespace onward::bench
