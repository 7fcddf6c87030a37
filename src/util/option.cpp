#include "onward/util/option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

using nlohmann::ordered_json;
using Type = Option::Type;

/// The number that all of the text is, if it is one.
template <class Number>
std::optional<Number> whole_text(std::string_view text) {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || end != last) return std::nullopt;
  return number;
}

std::string shown(const ordered_json& value) {
  if (!value.is_string()) return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return value.get_ref<const std::string&>().empty() ? "''" : value.get<std::string>();
}

[[noreturn]] void unusable(const Option& option, const std::string& value, const std::string& allowed) {
  throw UsageError(fmt::format("`{}` {} is not usable: {}", option.name, value, allowed));
}

std::string allowed_counts(const Option& option, std::optional<double> meant) {
  const bool bounded = option.most < std::numeric_limits<std::uint64_t>::max();
  std::string text = bounded
                         ? fmt::format("it must be a whole number from {} to {}", option.least, option.most)
                         : fmt::format("it must be a whole number, {} or more", option.least);
  // 1e6 and 1000.0 are meant well; the digits are what to type.
  if (meant && *meant >= 1 && std::floor(*meant) >= static_cast<double>(option.least) && *meant < 1e15 &&
      *meant <= static_cast<double>(option.most))
    text += fmt::format(", in digits, such as {:.0f}", std::floor(*meant));
  return text;
}

constexpr const char* a_number = "it must be a number, such as 0.5 or 1e-3";
constexpr const char* allowed_bytes = "it is a number of bytes, such as 300M or 2G";

void check_word(const Option& option, const std::string& word) {
  if (std::ranges::find(option.words, word) != option.words.end()) return;
  throw UsageError(fmt::format("`{}` '{}' is not known.{} It is {}", option.name, word,
                               suggestion(word, option.words),
                               fmt::join(option.words, option.words.size() == 2 ? " or " : ", ")));
}

}  // namespace

void check_value(const Option& option, const ordered_json& value) {
  switch (option.type) {
    case Type::json:
      if (!value.is_string() && !value.is_object())
        unusable(option, shown(value), "it must be the name of a file, or a JSON object");
      return;
    case Type::text:
    case Type::file:
    case Type::array:
    case Type::table:
    case Type::word:
      if (!value.is_string()) unusable(option, shown(value), "it must be text");
      if (option.type == Type::word) check_word(option, value.get<std::string>());
      return;
    case Type::number:
      if (!value.is_number()) unusable(option, shown(value), a_number);
      if (option.range && !option.range->has(value.get<double>()))
        unusable(option, fmt::format("{}", value.get<double>()), "it must be " + option.range->words());
      return;
    case Type::count:
      if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) ||
          value.get<std::uint64_t>() < option.least || value.get<std::uint64_t>() > option.most)
        unusable(
            option, shown(value),
            allowed_counts(option, value.is_number() ? std::optional(value.get<double>()) : std::nullopt));
      return;
    case Type::flag:
      if (!value.is_boolean()) unusable(option, shown(value), "it must be true or false");
      return;
    case Type::bytes: {
      const bool right = value.is_string()   ? parse_bytes(value.get<std::string>()).has_value()
                         : value.is_number() ? value.get<double>() >= 0
                                             : false;
      if (!right) unusable(option, shown(value), allowed_bytes);
      return;
    }
  }
}

std::string Range::words() const {
  if (std::isfinite(high)) return fmt::format("a number between {} and {}", low, high);
  if (low == 0) return from_low ? "0 or a positive number" : "a positive number";
  return fmt::format("a number {} {}", from_low ? "not below" : "above", low);
}

std::string value_word(const Option& option) {
  switch (option.type) {
    case Type::text:
    case Type::word:
      return "WORD";
    case Type::file:
    case Type::array:
    case Type::table:
    case Type::json:
      return "FILE";
    case Type::number:
      return "X";
    case Type::count:
      return "N";
    case Type::bytes:
      return "SIZE";
    case Type::flag:
      break;
  }
  return "";
}

std::optional<std::string> name_in_memory(std::string_view word) {
  constexpr std::string_view prefix = "memory:";
  if (!word.starts_with(prefix)) return std::nullopt;
  return std::string(word.substr(prefix.size()));
}

std::optional<double> parse_bytes(std::string_view text) {
  double factor = 1;
  if (!text.empty()) {
    const char last = text.back();
    factor = last == 'k' ? 1e3 : last == 'M' ? 1e6 : last == 'G' ? 1e9 : 1;
    if (factor > 1) text.remove_suffix(1);
  }
  const auto number = whole_text<double>(text);
  if (!number || !(*number >= 0) || factor * *number > 1e15) return std::nullopt;
  return factor * *number;
}

ordered_json parse_value(const Option& option, const std::string& text) {
  const std::string in_message = text.empty() ? "''" : text;
  ordered_json value = text;
  if (option.type == Type::number) {
    const auto number = whole_text<double>(text);
    if (!number) unusable(option, in_message, a_number);
    value = *number;
  } else if (option.type == Type::count) {
    const auto count = whole_text<std::uint64_t>(text);
    if (!count) unusable(option, in_message, allowed_counts(option, whole_text<double>(text)));
    value = *count;
  } else if (option.type == Type::flag && (text == "true" || text == "false")) {
    value = text == "true";
  }
  check_value(option, value);
  return value;
}

OptionValues::OptionValues(std::string owner, std::span<const Option> known, const ordered_json& given)
    : owner_(std::move(owner)), known_(known.begin(), known.end()) {
  if (!given.is_object() && !given.is_null())
    throw UsageError(fmt::format("the options of {} are {}: they must be an object of fields and values",
                                 owner_, given.type_name()));
  std::vector<std::string> names;
  for (const auto& option : known_) names.push_back(option.name);
  if (given.is_object())
    for (const auto& [name, value] : given.items())
      if (std::ranges::find(names, name) == names.end()) {
        const std::string all =
            names.empty() ? " It has none" : fmt::format(" It has `{}`", fmt::join(names, "`, `"));
        throw UsageError(
            fmt::format("{} has no option `{}`.{}{}", owner_, name, suggestion(name, names), all));
      }
  for (const auto& option : known_) {
    const auto found = given.is_object() ? given.find(option.name) : given.end();
    if (given.is_object() && found != given.end() && !found->is_null()) {
      check_value(option, *found);
      values_[option.name] = *found;
    }
    const auto stored = values_.find(option.name);
    if (option.required && (stored == values_.end() || (stored->is_string() && *stored == "")))
      throw UsageError(fmt::format("`{0}` is missing: {1} needs `{0}`{2}{3}, {4}", option.name, owner_,
                                   value_word(option).empty() ? "" : " ", value_word(option), option.help));
  }
}

const Option& OptionValues::described(std::string_view name) const {
  const auto found = std::ranges::find(known_, name, &Option::name);
  if (found == known_.end()) throw std::logic_error(fmt::format("{} describes no option {}", owner_, name));
  return *found;
}

const ordered_json* OptionValues::find(std::string_view name) const {
  described(name);
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? nullptr : &*found;
}

bool OptionValues::has(std::string_view name) const { return find(name) != nullptr; }

std::string OptionValues::text(std::string_view name) const {
  const auto* value = find(name);
  return value == nullptr ? std::string() : value->get<std::string>();
}

std::optional<double> OptionValues::number(std::string_view name) const {
  const auto* value = find(name);
  return value == nullptr ? std::nullopt : std::optional(value->get<double>());
}

std::optional<std::size_t> OptionValues::count(std::string_view name) const {
  const auto* value = find(name);
  return value == nullptr ? std::nullopt : std::optional(value->get<std::size_t>());
}

bool OptionValues::flag(std::string_view name) const {
  const auto* value = find(name);
  return value == nullptr ? described(name).on_by_default : value->get<bool>();
}

std::optional<double> OptionValues::bytes(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->is_string() ? parse_bytes(value->get<std::string>()) : value->get<double>();
}

std::vector<std::string> OptionValues::files() const {
  std::vector<std::string> files;
  for (const auto& option : known_) {
    if (option.type != Type::file && option.type != Type::array && option.type != Type::table &&
        option.type != Type::json)
      continue;
    const ordered_json* value = find(option.name);
    if (value != nullptr && value->is_string() && *value != "") files.push_back(value->get<std::string>());
  }
  return files;
}

}  // namespace onward
