#include "terminal.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "onward/util/printable.hpp"

namespace onward::app {
namespace {

/// One line, which begins in the column `begin`; what follows a break is indented by `indent`.
std::string wrapped_line(std::string_view line, std::size_t width, std::size_t begin, std::size_t indent) {
  std::string text;
  std::size_t used = begin;
  for (std::size_t at = 0; at < line.size();) {
    // A word with the spaces before it, which a break takes the place of.
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::size_t whole = columns_in(line.substr(at, end - at));
    if (at > 0 && used + whole > width) {
      text += '\n' + std::string(indent, ' ');
      text += line.substr(word, end - word);
      used = indent + columns_in(line.substr(word, end - word));
    } else {
      text += line.substr(at, end - at);
      used += whole;
    }
    at = end;
  }
  return text;
}

/// Calls `add` with each line of the text, and puts what it gives in lines again.
template <class Add>
std::string by_lines(std::string_view text, Add add) {
  std::string result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += add(text.substr(begin, end - begin));
    if (end < text.size()) result += '\n';
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::size_t columns_of(int descriptor) {
  if (const char* const words = std::getenv("COLUMNS")) {
    const std::string_view text(words);
    std::size_t columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error == std::errc{} && end == text.data() + text.size() && columns > 0) return columns;
  }
  winsize window{};
  return ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
}

std::string wrapped(std::string_view text, std::size_t width) {
  return by_lines(text, [&](std::string_view line) {
    return wrapped_line(line, width, 0, std::min(line.find_first_not_of(' '), line.size()) + 2);
  });
}

std::string wrapped_at(std::string_view text, std::size_t width, std::size_t indent) {
  return by_lines(text, [&, first = true](std::string_view line) mutable {
    const std::string before(std::exchange(first, false) ? 0 : indent, ' ');
    return before + wrapped_line(line, width, indent, indent);
  });
}

}  // namespace onward::app
