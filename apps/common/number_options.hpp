#pragma once
// Options that take a number. CLI11 would wrap negative counts around and say little of words that are not
// numbers; these name the option, the value and what is allowed.

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace onward::app {

/// The whole number that `word` is. Throws UsageError if it is none or less than `least`.
std::uint64_t parse_count(const std::string& option, const std::string& word, std::uint64_t least);

/// The number that `word` is, nan and inf among them: whether they are allowed is for the library to say.
double parse_number(const std::string& option, const std::string& word);

/// The number of bytes that `word` is: 300M, 2G and so on. Throws UsageError if it is none.
double parse_memory(const std::string& option, const std::string& word);

template <class T>
void show_default(CLI::Option& option, const T& value) {
  option.default_str(fmt::format("{}", value));
}
template <class T>
void show_default(CLI::Option&, const std::optional<T>&) {}

/// `--name N`, a whole number of at least `least`. Value: std::uint64_t, with or without std::optional.
template <class Value>
void add_count(CLI::App& command, const std::string& name, Value& value, std::uint64_t least,
               const std::string& description) {
  auto* option = command.add_option_function<std::string>(
      name, [&value, name, least](const std::string& word) { value = parse_count(name, word, least); },
      description);
  option->type_name("N");
  show_default(*option, value);
}

/// `--name X`, any number. Value: double, with or without std::optional.
template <class Value>
void add_number(CLI::App& command, const std::string& name, Value& value, const std::string& description) {
  auto* option = command.add_option_function<std::string>(
      name, [&value, name](const std::string& word) { value = parse_number(name, word); }, description);
  option->type_name("X");
  show_default(*option, value);
}

}  // namespace onward::app
