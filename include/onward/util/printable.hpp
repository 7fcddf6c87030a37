#pragma once
// Text on its way to a terminal: what it must not obey, and how much room it takes.

#include <cstddef>
#include <string>
#include <string_view>

namespace onward {

/// The text with control characters, and bytes that are no UTF-8, as `\n`, `\t` or `\x1b`; other UTF-8 stays.
/// With `lines`, line ends and tabs stay too.
std::string printable(std::string_view text, bool lines = false);

/// Whether the bytes are UTF-8: no stray or missing continuation, no form longer than it need be, no half of
/// a UTF-16 pair.
bool is_utf8(std::string_view text);

/// Whether a byte of UTF-8 begins a character: those that go on with one take no room of their own.
inline bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

/// How many columns UTF-8 text takes on a terminal, if none of its characters is wide or combining.
std::size_t columns_in(std::string_view text);

}  // namespace onward
