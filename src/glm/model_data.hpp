#pragma once
// What regressions read from arrays and files. Messages name the field of the specification that they were
// given by.

#include <span>
#include <string>
#include <vector>

#include "onward/glm/design.hpp"
#include "onward/io/array.hpp"

namespace onward::glm {

/// An array with one number in each row.
std::vector<double> read_rows(const std::string& field, const ArraySource& source);

/// X as its array has it: bytes stay bytes, and numbers become floats row by row.
Design read_design(const ArraySource& source, bool intercept, std::span<const std::string> names);

/// A name a line.
std::vector<std::string> read_names(const std::string& file);

}  // namespace onward::glm
