#pragma once
// Texts and headers as the CSV files of predictions have them.

#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace onward::app {

/// A text as a CSV file has it: in quotes where it needs them.
inline std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// "q5", "q2.5".
inline std::vector<std::string> quantile_names(std::span<const double> probabilities) {
  std::vector<std::string> names;
  for (const double p : probabilities) names.push_back(fmt::format("q{:.6g}", 100 * p));
  return names;
}

}  // namespace onward::app
