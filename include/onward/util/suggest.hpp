#pragma once
// "Did you mean ...?": the known name nearest to what was typed.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

/// " Did you mean NAME?" if some candidate is near enough to be a slip of the fingers, else an empty string.
std::string suggestion(std::string_view typed, std::span<const std::string> candidates);

/// "a, b, c"
std::string joined(std::span<const std::string> words);

}  // namespace onward
