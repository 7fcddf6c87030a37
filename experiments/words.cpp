#include "words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "onward/util/printable.hpp"

namespace onward::experiments {

std::string aligned(const Words& words) {
  std::vector<std::size_t> widths;
  for (std::size_t j = 0; j < words.headings.size(); ++j) {
    std::size_t width = columns_in(words.headings[j]);
    for (const auto& line : words.lines) width = std::max(width, columns_in(line[j]));
    widths.push_back(width);
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& line) {
    for (std::size_t j = 0; j < line.size(); ++j) {
      const std::string padding(widths[j] - columns_in(line[j]), ' ');
      text += (j == 0 ? "" : "  ") + (j == words.naming_column ? line[j] + padding : padding + line[j]);
    }
    text += "\n";
  };
  add(words.headings);
  for (const auto& line : words.lines) add(line);
  return text;
}

std::string markdown(const Words& words) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& line) {
    for (const auto& word : line) text += "| " + word + " ";
    text += "|\n";
  };
  add(words.headings);
  add(std::vector<std::string>(words.headings.size(), "---"));
  for (const auto& line : words.lines) add(line);
  return text;
}

std::string both(double ours, const std::optional<double>& published, int digits) {
  return published ? fmt::format("{:.{}f} ({:.{}f})", ours, digits, *published, digits)
                   : fmt::format("{:.{}f}", ours, digits);
}

}  // namespace onward::experiments
