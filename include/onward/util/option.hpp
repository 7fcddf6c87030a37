#pragma once
// Options as data: what one is called, what it may be and what it is for. Whoever takes options from outside
// (a command line, JSON, Python) reads the same descriptions, and whoever uses them gets checked values.
//
// Messages name an option by its field in backticks, `prior_intercept`: what it is called in JSON and in
// Python. A program whose users type --prior-intercept can put that in its place.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace onward {

/// The numbers from `low` to `high`. Neither end belongs to it, unless `from_low`.
struct Range {
  double low = 0, high = std::numeric_limits<double>::infinity();
  bool from_low = false;

  bool has(double x) const { return (from_low ? x >= low : x > low) && x < high; }
  std::string words() const;  ///< "a positive number"
};

struct Option {
  enum class Type {
    text,   ///< a string
    word,   ///< one of `words`
    file,   ///< the path of a file that is read
    array,  ///< the path of a .npy file that is read, or memory:NAME, an array that whoever builds hands over
    table,  ///< the path of a CSV file that is read, or memory:NAME, a table that whoever builds hands over
    json,   ///< the path of a JSON file that is read, or the object itself
    number,  ///< within `range` if there is one; otherwise finite or not, as its user may have it
    count,   ///< a whole number, from `least` to `most`
    flag,    ///< true or false; false unless `on_by_default`
    bytes    ///< an amount of memory: a number of bytes, or text such as "300M"
  };
  std::string name;  ///< the field: "prior_intercept"
  Type type = Type::text;
  std::string help = {};
  std::string otherwise = {};         ///< in words: what holds if it is left out
  nlohmann::ordered_json usual = {};  ///< the value that holds if it is left out; null: `otherwise` tells
  std::vector<std::string> words = {};
  std::uint64_t least = 0, most = std::numeric_limits<std::uint64_t>::max();  ///< of a count
  std::optional<Range> range = {};                                            ///< of a number
  bool on_by_default = false;
  bool required = false;
  bool repeatable = false;  ///< of a text: whoever types it may do so several times, joined by semicolons
  bool for_runs = false;    ///< says something of runs alone, nothing where a model is only evaluated
};

/// In short what a value of it is: "FILE", "X", "N"; empty for a flag.
std::string value_word(const Option& option);

/// The value that text stands for, as a command line or a form has it: a number for "0.5". A flag's is "true"
/// or "false". Throws UsageError that names the option, the text and what is allowed.
nlohmann::ordered_json parse_value(const Option& option, const std::string& text);

/// Throws UsageError that names the option, the value and what is allowed unless the value can be its own.
void check_value(const Option& option, const nlohmann::ordered_json& value);

/// The NAME of memory:NAME; nothing if the word is another.
std::optional<std::string> name_in_memory(std::string_view word);

/// The number of bytes that "300M", "2G" or "1000" stands for.
std::optional<double> parse_bytes(std::string_view text);

/// Options that were given, checked against their descriptions.
class OptionValues {
 public:
  /// `given` is an object; a null stands for an option that is left out. Throws UsageError for fields that
  /// are not known (with the nearest that is), values of another type and required fields that are missing.
  /// `owner` is what has the options: "glm". Descriptions and values are copied.
  OptionValues(std::string owner, std::span<const Option> known, const nlohmann::ordered_json& given);

  bool has(std::string_view name) const;
  /// The text, word or path; empty if it was not given.
  std::string text(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<std::size_t> count(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::optional<double> bytes(std::string_view name) const;

  /// Paths of all files that were given, in the order of the descriptions; what is in memory too, as
  /// memory:NAME.
  std::vector<std::string> files() const;
  /// What was given, in the order of the descriptions.
  const nlohmann::ordered_json& json() const { return values_; }
  const std::string& owner() const { return owner_; }

 private:
  const nlohmann::ordered_json* find(std::string_view name) const;
  const Option& described(std::string_view name) const;

  std::string owner_;
  std::vector<Option> known_;
  nlohmann::ordered_json values_ = nlohmann::ordered_json::object();
};

}  // namespace onward
