#pragma once
// Numbers as the page carries them: floats of 32 bits in base64, a third of the length of their decimals.

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace onward::report {

inline std::string base64(std::span<const unsigned char> bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<std::uint32_t>(bytes[i + k]) : 0U;
    };
    const std::uint32_t three = at(0) << 16 | at(1) << 8 | at(2);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : letters[three >> (18 - 6 * k) & 63];
  }
  return text;
}

/// Little-endian on every machine. Numbers beyond the range of floats become infinite, which the page does
/// not draw.
template <class Range>
std::string encoded(const Range& values) {
  std::string bytes;
  bytes.reserve(4 * std::size(values));
  for (const auto value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 255U);
  }
  return base64({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

}  // namespace onward::report
