#include "onward/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.hpp"

namespace onward {

std::size_t json_depth(std::string_view text) {
  std::size_t depth = 0, most = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;  // what follows does not end the string
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return most;
}

namespace detail {

void throw_not_json(std::string_view what, std::string_view problem) {
  // "[json.exception.parse_error.101] parse error at line ..."
  if (const auto end = problem.find("] "); problem.starts_with('[') && end != std::string_view::npos)
    problem.remove_prefix(end + 2);
  throw Error(fmt::format("{}: not valid JSON: {}", what, problem));
}

void check_json_depth(std::string_view text, std::string_view what) {
  if (const std::size_t depth = json_depth(text); depth > most_json_depth)
    throw Error(fmt::format("{}: its JSON is nested {} deep, more than the {} that any file here needs", what,
                            depth, most_json_depth));
}

}  // namespace detail
}  // namespace onward
