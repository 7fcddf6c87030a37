#pragma once
// A table in words: for a terminal, Markdown and CSV.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace onward::experiments {

struct Words {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> lines;
  std::size_t naming_column = 0;  ///< the one that names the rows
};

/// Columns of equal width, the one that names the rows to the left and the others to the right.
std::string aligned(const Words& words);
std::string markdown(const Words& words);

/// Ours and, where there is one, the published figure in brackets.
std::string both(double ours, const std::optional<double>& published, int digits);

}  // namespace onward::experiments
