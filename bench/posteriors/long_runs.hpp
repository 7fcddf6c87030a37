#pragma once
// Answers that come from long runs: long_runs.cpp is made by bench/long_runs.

#include <string_view>
#include <vector>

#include "bench/posteriors/answers.hpp"

namespace onward::bench {

std::vector<Answer> long_run(std::string_view name);  ///< empty if there is none

}  // namespace onward::bench
