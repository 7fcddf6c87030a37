#pragma once
// Numbers in text, whatever the locale is.

#include <optional>
#include <string_view>

namespace onward {

/// The number that the whole of `text` is, a leading plus sign allowed; 0 or infinite where it is beyond
/// doubles.
std::optional<double> parse_decimal(std::string_view text);

/// Whether the text would be such a number with a point in place of its comma.
bool has_decimal_comma(std::string_view text);

}  // namespace onward
