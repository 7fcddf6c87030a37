#include "onward/util/printable.hpp"

#include <fmt/format.h>

namespace onward {

std::string printable(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    if ((byte == '\n' || byte == '\t') && lines)
      out += text[i];
    else if (byte == '\n' || byte == '\t')
      out += byte == '\n' ? "\\n" : "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else if (byte == 0xc2 && next >= 0x80 && next < 0xa0)  // the second set of control characters, in UTF-8
      out += fmt::format("\\x{:02x}", next), ++i;
    else
      out += text[i];
  }
  return out;
}

}  // namespace onward
