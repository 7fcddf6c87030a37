#pragma once
// lme4's InstEval: 73,421 ratings of 1,128 lecturers by 2,972 students.

#include <cstddef>
#include <vector>

#include "bench.hpp"

namespace onward::bench {

/// Rows beside what lme4 estimates; none where it is not installed, since the data are its own.
void add_insteval(std::vector<Row>& rows, std::size_t cores);

}  // namespace onward::bench
