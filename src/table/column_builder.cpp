#include "column_builder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "csv_number.hpp"
#include "onward/util/decimal.hpp"
#include "onward/util/release.hpp"

namespace onward::detail {
namespace {

constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();

/// 1 for true and 0 for false, in the spellings that R knows.
std::optional<std::uint32_t> logical_word(std::string_view word) {
  static constexpr std::array<std::string_view, 4> yes{"TRUE", "T", "true", "True"};
  static constexpr std::array<std::string_view, 4> no{"FALSE", "F", "false", "False"};
  if (std::ranges::find(yes, word) != yes.end()) return 1;
  if (std::ranges::find(no, word) != no.end()) return 0;
  return std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::optional<double> parse_number(std::string_view text) { return parse_decimal(without_blanks(text)); }

bool ColumnBuilder::only_missing(std::size_t row) const {
  const auto filled = static_cast<std::ptrdiff_t>(row % NumberBlocks::block_rows);
  return !named_nan_ && !numbers_.any() &&
         (pending_.empty() || std::all_of(pending_.begin(), pending_.begin() + filled,
                                          [](double value) { return std::isnan(value); }));
}

bool ColumnBuilder::add(std::size_t row, std::size_t line, std::string_view text, bool is_missing) {
  if (mode_ == Mode::number) {
    const auto value = is_missing ? missing_number : parse_number(text);
    if (value) {
      put(row, *value);
      named_nan_ = named_nan_ || (!is_missing && std::isnan(*value));
      return false;
    }
    if (only_missing(row)) {
      mode_ = Mode::text;
      codes_.assign(row, Column::missing_code);
    } else {
      mode_ = Mode::spoiled;
      text_among_numbers_ = TextAmongNumbers{.line = line, .text = std::string(text)};
    }
    release(pending_);
    numbers_ = {};
  }
  if (mode_ != Mode::text) return false;
  codes_.resize(row);  // a record that the buffer cut is read again
  const std::size_t known = levels_.size();
  codes_.push_back(is_missing ? Column::missing_code : levels_.code(text));
  return levels_.size() > known;
}

void ColumnBuilder::seal(std::size_t rows) {
  if (mode_ != Mode::number || pending_.empty()) return;
  const std::size_t rest = rows % NumberBlocks::block_rows;
  numbers_.append(std::span(pending_).first(rest == 0 ? NumberBlocks::block_rows : rest));
}

bool ColumnBuilder::has_decimal_commas() const {
  if (mode_ != Mode::text) return false;
  bool any = false;
  for (const std::string& word : levels_.words()) {
    const bool comma = has_decimal_comma(without_blanks(word));
    any = any || comma;
    if (!comma && !parse_number(word)) return false;
  }
  return any;
}

Column ColumnBuilder::finish(std::size_t rows, bool infer) {
  release(pending_);
  if (mode_ == Mode::number) return Column::numbers(name_, std::move(numbers_), rows);
  const auto& words = levels_.words();
  if (infer && !words.empty() &&
      std::ranges::all_of(words, [](const auto& word) { return logical_word(word).has_value(); })) {
    for (auto& code : codes_)
      if (code != Column::missing_code) code = *logical_word(words[code]);
    return Column::logical(name_, std::move(codes_));
  }
  auto levels = levels_.sorted(codes_);
  codes_.shrink_to_fit();
  Column column = Column::factor(name_, std::move(codes_), std::move(levels));
  if (text_among_numbers_) column.set_text_among_numbers(*text_among_numbers_);
  return column;
}

}  // namespace onward::detail
