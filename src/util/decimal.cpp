#include "onward/util/decimal.hpp"

#include <locale.h>  // NOLINT(modernize-deprecated-headers): POSIX newlocale

#include <charconv>
#include <cstdlib>
#include <string>

namespace onward {

std::optional<double> parse_decimal(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {  // not by the program's own decimal mark
    static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return ::strtod_l(std::string(text).c_str(), nullptr, c_locale);
  }
  return value;
}

bool has_decimal_comma(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  std::string pointed(text);
  pointed[comma] = '.';
  return parse_decimal(pointed).has_value();
}

}  // namespace onward
