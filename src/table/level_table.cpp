#include "level_table.hpp"

#include <algorithm>
#include <numeric>

#include "onward/error.hpp"
#include "onward/table/column.hpp"

namespace onward::detail {

std::uint32_t LevelTable::code(std::string_view word) {
  // Files are often sorted, so that a word is likely to be the one before.
  if (last_ < words_.size() && words_[last_] == word) return last_;
  if (const auto found = codes_.find(word); found != codes_.end()) return last_ = found->second;
  if (words_.size() == Column::missing_code) throw Error("more than 4,294,967,295 levels in one column.");
  last_ = static_cast<std::uint32_t>(words_.size());
  words_.emplace_back(word);
  codes_.emplace(words_.back(), last_);
  return last_;
}

std::vector<std::string> LevelTable::sorted(std::span<std::uint32_t> codes) const {
  std::vector<std::uint32_t> order(words_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](auto a, auto b) { return words_[a] < words_[b]; });
  std::vector<std::uint32_t> rank(words_.size());
  std::vector<std::string> levels;
  levels.reserve(words_.size());
  for (const auto k : order) {
    rank[k] = static_cast<std::uint32_t>(levels.size());
    levels.push_back(words_[k]);
  }
  for (auto& code : codes)
    if (code != Column::missing_code) code = rank[code];
  return levels;
}

}  // namespace onward::detail
