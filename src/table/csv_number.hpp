#pragma once
// Decimal numbers of CSV files. Most have few digits, so that digits and power of ten are exact doubles and
// one division or product, which rounds once, gives the nearest double; others go the long way.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace onward::detail {

/// Reads a plain decimal number at `text`, whose characters end with one that cannot belong to a number.
/// Returns the end of the number, or null if the long way is needed to say what it is.
inline const char* read_decimal(const char* text, double& value) {
  static constexpr std::array powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;
  const auto digit = [](char c) { return static_cast<unsigned>(c) - '0'; };
  const char* at = text;
  const bool negative = *at == '-';
  if (negative) ++at;
  std::uint64_t digits = 0;
  const char* const first = at;
  for (; digit(*at) < 10; ++at) digits = 10 * digits + digit(*at);
  auto count = at - first;
  std::ptrdiff_t decimals = 0;
  if (*at == '.') {
    const char* const point = ++at;
    for (; digit(*at) < 10; ++at) digits = 10 * digits + digit(*at);
    decimals = at - point;
    count += decimals;
  }
  // 18 digits cannot overflow.
  if (count == 0 || count > 18 || digits > exact || decimals >= static_cast<std::ptrdiff_t>(powers.size()))
    return nullptr;
  const double magnitude = static_cast<double>(digits) / powers[static_cast<std::size_t>(decimals)];
  value = negative ? -magnitude : magnitude;
  return at;
}

/// The number that the text is, blanks around it aside; nothing if it is none. Inf and NaN are numbers.
std::optional<double> parse_number(std::string_view text);

}  // namespace onward::detail
