#include "onward/util/printable.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace onward {
namespace {

/// How many bytes the character at the front takes; 0 if that is no UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t count = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < count) return 0;
  for (std::size_t i = 1; i < count; ++i)
    if (begins_character(text[i])) return 0;
  // Longer than needed, halves of UTF-16 pairs, and beyond the last character.
  const bool wrong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0) ||
                     (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90);
  return wrong ? 0 : count;
}

}  // namespace

std::string printable(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t count = character_bytes(text.substr(i));
    if ((byte == '\n' || byte == '\t') && lines)
      out += text[i];
    else if (byte == '\n' || byte == '\t')
      out += byte == '\n' ? "\\n" : "\\t";
    else if (byte < 0x20 || byte == 0x7f || count == 0)
      out += fmt::format("\\x{:02x}", byte);
    else if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0)  // the second set of them
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else
      out += text.substr(i, count), i += count - 1;
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t count = character_bytes(text);
    if (count == 0) return false;
    text.remove_prefix(count);
  }
  return true;
}

std::size_t columns_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

}  // namespace onward
