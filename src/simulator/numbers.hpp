#pragma once
// Numbers in JSON, as simulators send and take them. NaN and Infinity are not JSON, but Python writes them;
// null stands for NaN.

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "onward/target/jet.hpp"

namespace onward::detail {

/// Appends [0.5, -1.0], every digit that counts included.
void append_numbers(std::string& to, VectorView numbers);

/// The object that an answer is. Throws WireProblem, `garbage`, with how it begins, for anything else.
nlohmann::json parse_answer(std::string_view text);

/// The numbers of a field, which is an array, or an array of arrays, with as many as `out` has in all. Throws
/// WireProblem, `garbage`, which names the field and how many it has.
void read_numbers(const nlohmann::json& answer, const char* field, std::span<double> out);

}  // namespace onward::detail
