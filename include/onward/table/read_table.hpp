#pragma once
// Tables from CSV files, read in one pass: the text is never in memory as a whole. docs/formulas.md says what
// is understood.

#include <filesystem>
#include <string>
#include <vector>

#include "onward/table/table.hpp"

namespace onward {

struct ReadTableOptions {
  char separator = '\0';                     ///< ',', ';' or a tab; 0: whichever the header line has most of
  std::vector<std::string> na = {"NA", ""};  ///< words that stand for a missing entry
  std::vector<std::string> keep = {};        ///< the columns to read; empty: all
  std::vector<std::string> text = {};  ///< columns that are factors even if all their entries are numbers
};

/// Reads a CSV file with a header line, plain or compressed by gzip. Errors name the file, the line and the
/// column.
Table read_table(const std::filesystem::path& path, const ReadTableOptions& options = {});

}  // namespace onward
