#include "terminal.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace onward::app {
namespace {

/// Bytes that go on with a character of UTF-8 take no room of their own.
std::size_t cells(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::string wrapped_line(std::string_view line, std::size_t width) {
  if (cells(line) <= width) return std::string(line);
  const std::size_t margin = std::min(line.find_first_not_of(' '), line.size());
  std::string text(line.substr(0, margin));
  std::size_t used = margin;
  bool first = true;
  for (std::size_t begin = margin; begin < line.size();) {
    // A word with the spaces before it, which a break takes the place of.
    const std::size_t word = std::min(line.find_first_not_of(' ', begin), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::size_t whole = cells(line.substr(begin, end - begin));
    if (!first && used + whole > width) {
      text += '\n';
      text.append(margin + 2, ' ');
      text += line.substr(word, end - word);
      used = margin + 2 + cells(line.substr(word, end - word));
    } else {
      text += line.substr(begin, end - begin);
      used += whole;
    }
    first = false;
    begin = end;
  }
  return text;
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
  std::string result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += wrapped_line(text.substr(begin, end - begin), width);
    if (end < text.size()) result += '\n';
    begin = end + 1;
  }
  return result;
}

}  // namespace onward::app
