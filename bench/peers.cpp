#include "peers.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace onward::bench {
namespace {

/// As one word of the shell.
std::string quoted(const std::string& word) {
  std::string text;
  for (char c : word) {
    if (c == '\'') text.append("'\\'");
    text.push_back(c);
  }
  return fmt::format("'{}'", text);
}

}  // namespace

std::optional<nlohmann::json> run_peer(const std::string& interpreter, const std::string& script,
                                       const std::vector<std::string>& arguments) {
  std::string command =
      fmt::format("{} {}", interpreter, quoted(fmt::format("{}/{}", ONWARD_BENCH_FOLDER, script)));
  for (const auto& argument : arguments) command.append(" ").append(quoted(argument));
  command.append(" 2>/dev/null");
  const auto missing = [&](const std::string& why) {
    fmt::print(stderr, "note: {} is not measured: {}\n", script, why);
    return std::nullopt;
  };
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return missing("it cannot be started");
  std::string line, last;
  for (int c; (c = std::fgetc(pipe)) != EOF;) {
    line += static_cast<char>(c);
    if (c != '\n') continue;
    if (line.starts_with("{")) last = line;
    line.clear();
  }
  const int status = ::pclose(pipe);
  const auto json = nlohmann::json::parse(last, nullptr, false);
  if (json.is_discarded()) return missing(fmt::format("{} gave no result (status {})", interpreter, status));
  if (json.contains("missing")) return missing(json["missing"].get<std::string>());
  return json;
}

}  // namespace onward::bench
