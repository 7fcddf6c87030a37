#pragma once
// What regressions read from files. Messages name the field of the specification that a file was given by.

#include <span>
#include <string>
#include <vector>

#include "onward/glm/design.hpp"

namespace onward::glm {

/// A file with one number in each row.
std::vector<double> read_rows(const std::string& field, const std::string& file);

/// X as its file has it: bytes stay bytes, and numbers become floats row by row.
Design read_design(const std::string& file, bool intercept, std::span<const std::string> names);

/// A name a line.
std::vector<std::string> read_names(const std::string& file);

}  // namespace onward::glm
