#include "number_options.hpp"

#include <charconv>
#include <cmath>

#include "onward/error.hpp"

namespace onward::app {
namespace {

/// The number that all of `word` is, if it is one.
template <class Number>
std::optional<Number> whole_word(const std::string& word) {
  Number number{};
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  if (error != std::errc{} || end != last) return std::nullopt;
  return number;
}

}  // namespace

std::uint64_t parse_count(const std::string& option, const std::string& word, std::uint64_t least) {
  const auto count = whole_word<std::uint64_t>(word);
  if (count && *count >= least) return *count;
  std::string remedy = fmt::format("it must be a whole number, {} or more", least);
  // 1e6 and 1000.0 are meant well; the digits are what to type.
  if (const auto number = whole_word<double>(word); !count && number && *number >= 1 && *number < 1e15)
    remedy += fmt::format(", in digits, such as {:.0f}", std::floor(*number));
  throw UsageError(fmt::format("{} {} is not usable: {}", option, word.empty() ? "''" : word, remedy));
}

double parse_number(const std::string& option, const std::string& word) {
  if (const auto number = whole_word<double>(word)) return *number;
  throw UsageError(fmt::format("{} {} is not usable: it must be a number, such as 0.5 or 1e-3", option,
                               word.empty() ? "''" : word));
}

double parse_memory(const std::string& option, const std::string& word) {
  double factor = 1;
  std::string digits = word;
  if (!digits.empty()) {
    const char last = digits.back();
    factor = last == 'k' ? 1e3 : last == 'M' ? 1e6 : last == 'G' ? 1e9 : 1;
    if (factor > 1) digits.pop_back();
  }
  double bytes = 0;
  try {
    bytes = factor * parse_number(option, digits);
  } catch (const UsageError&) {
    bytes = -1;
  }
  if (!(bytes >= 0) || bytes > 1e15)
    throw UsageError(
        fmt::format("{} {} is not usable: it is a number of bytes, such as 300M or 2G", option, word));
  return bytes;
}

}  // namespace onward::app
