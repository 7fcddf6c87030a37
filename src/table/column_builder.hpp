#pragma once
// A column while it is being read: what it is follows from the entries as they come.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "level_table.hpp"
#include "onward/table/column.hpp"

namespace onward::detail {

class ColumnBuilder {
 public:
  enum class Mode {
    number,  ///< numbers and missing entries so far
    text,
    spoiled,  ///< text came after numbers, whose spelling is forgotten: to be read again as text
    skipped
  };
  ColumnBuilder(std::string name, Mode mode) : name_(std::move(name)), mode_(mode) {}

  const std::string& name() const { return name_; }
  Mode mode() const { return mode_; }

  /// The entry of row `row` is this number. Only in the mode `number`.
  void put(std::size_t row, double value) {
    if (pending_.empty()) pending_.resize(NumberBlocks::block_rows);
    pending_[row % NumberBlocks::block_rows] = value;
  }
  /// The entry of row `row`, on line `line`, as text. Returns whether it is a word that was not there before,
  /// which the reader has then to check.
  bool add(std::size_t row, std::size_t line, std::string_view text, bool is_missing);
  /// To be called when `rows` is a multiple of the block size, and at the end.
  void seal(std::size_t rows);
  /// The column. `infer` is false for a column that was asked for as text.
  Column finish(std::size_t rows, bool infer);

  const std::optional<TextAmongNumbers>& text_among_numbers() const { return text_among_numbers_; }
  void set_text_among_numbers(const std::optional<TextAmongNumbers>& where) { text_among_numbers_ = where; }
  /// Whether all words look like numbers with decimal commas.
  bool has_decimal_commas() const;

 private:
  bool only_missing(std::size_t row) const;

  std::string name_;
  Mode mode_;
  std::vector<double> pending_;  // the block of numbers that is being filled
  NumberBlocks numbers_;
  bool named_nan_ = false;  // "NaN" was taken for a number, and might be a word after all
  LevelTable levels_;
  std::vector<std::uint32_t> codes_;
  std::optional<TextAmongNumbers> text_among_numbers_;
};

}  // namespace onward::detail
