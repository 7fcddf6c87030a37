#include "numbers.hpp"

#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "onward/io/json.hpp"
#include "onward/util/printable.hpp"
#include "wire.hpp"

namespace onward::detail {
namespace {

using nlohmann::json;

[[noreturn]] void garbage(const std::string& words) { throw WireProblem(WireProblem::Kind::garbage, words); }

/// The text with the words that Python has for what is not finite replaced by null, outside of strings.
std::string without_nan(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (in_string && text[i] == '\\' && rest.size() > 1) {
      out += rest.substr(0, 2);
      i += 2;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    std::size_t skip = 0;
    if (!in_string)
      for (const std::string_view word : {"NaN", "nan", "-Infinity", "Infinity", "-inf", "inf"})
        if (skip == 0 && rest.starts_with(word)) skip = word.size();
    if (skip > 0)
      out += "null";
    else
      out += text[i];
    i += std::max<std::size_t>(skip, 1);
  }
  return out;
}

/// How many numbers there are; they go to `out` as far as there is room.
std::size_t flatten(const json& value, const char* field, std::span<double> out, std::size_t count) {
  if (value.is_array()) {
    for (const json& one : value) count = flatten(one, field, out, count);
    return count;
  }
  if (!value.is_number() && !value.is_null())
    garbage(fmt::format("\"{}\" in its answer has {} where a number is due", field, value.type_name()));
  if (count < out.size())
    out[count] = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  return count + 1;
}

}  // namespace

void append_numbers(std::string& to, VectorView numbers) {
  to += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) to += ',';
    const std::size_t begin = to.size();
    if (std::isfinite(numbers[i]))
      fmt::format_to(std::back_inserter(to), "{}", numbers[i]);
    else
      to += "null";
    // 1.0: some servers tell it from 1.
    if (to.find_first_not_of("-0123456789", begin) == std::string::npos) to += ".0";
  }
  to += ']';
}

json parse_answer(std::string_view text) {
  json answer = json_depth(text) <= most_json_depth ? json::parse(text, nullptr, false) : json();
  if (answer.is_discarded()) answer = json::parse(without_nan(text), nullptr, false);
  if (!answer.is_object())
    garbage(text.empty() ? "its answer is empty"
                         : fmt::format("its answer is no JSON object; it begins with '{}'",
                                       printable(text.substr(0, 80))));
  return answer;
}

void read_numbers(const json& answer, const char* field, std::span<double> out) {
  const auto found = answer.find(field);
  if (found == answer.end() || !found->is_array())
    garbage(fmt::format("its answer has no array \"{}\"", field));
  const std::size_t count = flatten(*found, field, out, 0);
  if (count != out.size())
    garbage(fmt::format("\"{}\" in its answer has {} numbers where {} are due", field, count, out.size()));
}

}  // namespace onward::detail
