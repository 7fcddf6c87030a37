#pragma once
// Small texts that users write: numbers, and names with arguments in parentheses or after colons.

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onward::detail {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// The finite number that the text is.
inline std::optional<double> number_in(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || text.empty() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

struct Call {
  std::string name;
  std::vector<std::string> arguments;
};

/// normal(0, 1) or normal:0:1; nothing if parentheses do not match.
inline std::optional<Call> read_call(std::string_view text) {
  text = trimmed(text);
  const auto open = text.find('(');
  char between = ':';
  std::string_view rest;
  Call call;
  if (open != std::string_view::npos) {
    if (text.find(')') != text.size() - 1 || text.find('(', open + 1) != std::string_view::npos)
      return std::nullopt;
    call.name = trimmed(text.substr(0, open));
    rest = trimmed(text.substr(open + 1, text.size() - open - 2));
    between = ',';
  } else {
    if (text.find(')') != std::string_view::npos) return std::nullopt;
    const auto colon = text.find(':');
    call.name = trimmed(text.substr(0, colon));
    if (colon != std::string_view::npos) rest = text.substr(colon + 1);
  }
  while (!rest.empty()) {
    const auto end = std::min(rest.find(between), rest.size());
    call.arguments.emplace_back(trimmed(rest.substr(0, end)));
    if (end < rest.size() && end + 1 == rest.size()) call.arguments.emplace_back();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return call;
}

}  // namespace onward::detail
