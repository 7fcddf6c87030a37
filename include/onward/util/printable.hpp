#pragma once
// Text of files and names on its way to a terminal, which would obey the control characters in it.

#include <string>
#include <string_view>

namespace onward {

/// The text with control characters, and bytes that are no UTF-8, as `\n`, `\t` or `\x1b`; other UTF-8 stays.
/// With `lines`, line ends and tabs stay too.
std::string printable(std::string_view text, bool lines = false);

/// Whether the bytes are UTF-8: no stray or missing continuation, no form longer than it need be, no half of
/// a UTF-16 pair.
bool is_utf8(std::string_view text);

}  // namespace onward
