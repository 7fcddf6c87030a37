#pragma once
// JSON in and out without surprises: files that nest without end are refused, since working through them
// would overflow the stack, and text that is not UTF-8 is written with the bad bytes replaced.

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace onward {

/// No file of ours or of other programs that we read goes deeper.
inline constexpr std::size_t most_json_depth = 64;

/// How deep arrays and objects are nested, at most; text that is no JSON has some depth too.
std::size_t json_depth(std::string_view text);

namespace detail {
/// Throws Error: "<what>: ...", in words of nlohmann's without the numbers that they begin with.
[[noreturn]] void throw_not_json(std::string_view what, std::string_view problem);
void check_json_depth(std::string_view text, std::string_view what);
}  // namespace detail

/// Parses text; an Error that begins with `what` (a file's name, say) if it is no JSON or nests too deep.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, std::string_view what) {
  detail::check_json_depth(text, what);
  try {
    return Json::parse(text);
  } catch (const typename Json::exception& problem) {
    detail::throw_not_json(what, problem.what());
  }
}

/// JSON as text, on one line or indented. Bytes that are not UTF-8 become the replacement character.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace onward
