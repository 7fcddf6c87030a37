#pragma once
// What writer and reader of CmdStan's CSV files share.

#include <string_view>

namespace onward::detail {

/// Comments that say what a column is called, whose head had to be made of plain characters.
inline constexpr std::string_view name_of = "name of ";

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

}  // namespace onward::detail
