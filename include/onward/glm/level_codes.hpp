#pragma once
// The number of the level that each row belongs to. Few factors have more levels than 16 bits count, and with
// a million rows each array of all rows is worth its bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <variant>
#include <vector>

namespace onward::glm {

class LevelCodes {
 public:
  LevelCodes() = default;
  LevelCodes(
      const std::vector<std::uint32_t>& codes) {  // NOLINT(google-explicit-constructor): the same numbers
    const bool narrow = codes.empty() || std::ranges::max(codes) <= std::numeric_limits<std::uint16_t>::max();
    if (narrow)
      codes_.emplace<Narrow>(codes.begin(), codes.end());
    else
      codes_ = codes;
  }
  LevelCodes(std::initializer_list<std::uint32_t> codes) : LevelCodes(std::vector<std::uint32_t>(codes)) {}

  std::size_t size() const {
    return std::visit([](const auto& codes) { return codes.size(); }, codes_);
  }
  std::uint32_t operator[](std::size_t row) const {
    const auto* narrow = std::get_if<Narrow>(&codes_);
    return narrow != nullptr ? (*narrow)[row] : (*std::get_if<Wide>(&codes_))[row];
  }
  /// Calls use(codes) with a pointer to the codes as they are stored: loops over rows are for both types, and
  /// ask once.
  template <class Use>
  void visit(const Use& use) const {
    std::visit([&](const auto& codes) { use(codes.data()); }, codes_);
  }

 private:
  using Narrow = std::vector<std::uint16_t>;
  using Wide = std::vector<std::uint32_t>;
  std::variant<Narrow, Wide> codes_;
};

}  // namespace onward::glm
