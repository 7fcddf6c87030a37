#pragma once
// The different words of a text column, numbered as they come and sorted at the end.

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onward::detail {

class LevelTable {
 public:
  /// The number of this word; a new one gets the next number.
  std::uint32_t code(std::string_view word);
  std::size_t size() const { return words_.size(); }
  const std::deque<std::string>& words() const { return words_; }
  /// The words sorted by their bytes; `codes` are renumbered accordingly (the code of missing entries stays).
  std::vector<std::string> sorted(std::span<std::uint32_t> codes) const;

 private:
  std::deque<std::string> words_;  // its entries never move, so that the keys below stay valid
  std::unordered_map<std::string_view, std::uint32_t> codes_;
  std::uint32_t last_ = 0;
};

}  // namespace onward::detail
