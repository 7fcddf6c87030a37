#pragma once
// A column of a table by its type: numbers, levels of a factor, or true and false. Rows lie in blocks, so
// that a column grows without being copied, and each block of numbers is kept as floats where that loses
// nothing of use.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace onward {

enum class ColumnKind { number, factor, logical };

/// Numbers in blocks. A block is kept as floats if every integer in it stays exact and no entry moves by more
/// than a millionth of the range of all numbers so far; the first block always has doubles, so that small
/// tables are exact.
class NumberBlocks {
 public:
  static constexpr std::size_t block_rows = 1 << 14;

  /// Appends a block of `block_rows` numbers; only the last block may be shorter. Missing ones are NaN.
  void append(std::span<const double> block);
  double operator[](std::size_t i) const;
  void read(std::size_t first, std::span<double> out) const;
  /// Whether row i lies in a block of floats.
  bool is_float(std::size_t i) const { return blocks_[i / block_rows].index() == 0; }
  std::size_t missing() const { return missing_; }
  /// Whether any entry is a number.
  bool any() const { return low_ <= high_; }
  std::size_t memory() const;

 private:
  std::vector<std::variant<std::vector<float>, std::vector<double>>> blocks_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;  // of finite numbers
  std::size_t missing_ = 0;
};

/// Numbers that lie elsewhere, one every `stride` bytes: a column of somebody's table, which is used where it
/// is and must stay there.
class NumberView {
 public:
  /// `dtype` is NumPy's word, such as "<f4". Throws UsageError, which names the column, if it is not known.
  NumberView(const std::string& column, std::string_view dtype, const std::byte* first, std::size_t rows,
             std::ptrdiff_t stride);

  double operator[](std::size_t i) const;
  void read(std::size_t first, std::span<double> out) const;
  bool is_float(std::size_t) const { return std::holds_alternative<float>(type_); }
  std::size_t missing() const { return missing_; }
  std::size_t memory() const { return 0; }

 private:
  template <class F>
  auto with_type(F&& f) const;

  /// A number of the type that the entries have.
  std::variant<double, float, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
               std::uint16_t, std::uint32_t, std::uint64_t>
      type_;
  const std::byte* first_;
  std::ptrdiff_t stride_;
  std::size_t missing_ = 0;
};

/// The first entry of a column that is no number, where entries before it were.
struct TextAmongNumbers {
  std::size_t line = 0;
  std::string text;
};

class Column {
 public:
  static constexpr std::uint32_t missing_code = std::numeric_limits<std::uint32_t>::max();

  static Column numbers(std::string name, std::span<const double> values);
  static Column numbers(std::string name, std::span<const float> values);
  static Column numbers(std::string name, std::span<const std::int32_t> values);
  static Column numbers(std::string name, std::span<const std::int64_t> values);
  static Column numbers(std::string name, NumberBlocks blocks, std::size_t rows);
  /// Numbers that stay where they are; see NumberView.
  static Column view(std::string name, std::string_view dtype, const std::byte* first, std::size_t rows,
                     std::ptrdiff_t stride);
  /// Text as a factor; the words in `na` are missing. Levels are sorted by their bytes, which for UTF-8 is
  /// the order of code points and what R's sort gives in the C locale.
  static Column text(std::string name, std::span<const std::string> values,
                     std::span<const std::string> na = {});
  /// A factor by its codes (`missing_code` for missing entries) and level names, whose order is kept.
  static Column factor(std::string name, std::vector<std::uint32_t> codes, std::vector<std::string> levels);
  /// Codes 0 (false), 1 (true) or `missing_code`.
  static Column logical(std::string name, std::vector<std::uint32_t> codes);

  const std::string& name() const { return name_; }
  ColumnKind kind() const { return kind_; }
  std::size_t rows() const { return rows_; }
  std::size_t missing() const { return missing_; }

  /// The number in row i, NaN where it is missing; of a factor or a logical column its code.
  double number(std::size_t i) const;
  /// Numbers from row `first` on, as many as `out` has room for.
  void read(std::size_t first, std::span<double> out) const;
  /// Whether row i is kept as a float.
  bool is_float(std::size_t i) const {
    return kind_ == ColumnKind::number &&
           std::visit([i](const auto& numbers) { return numbers.is_float(i); }, numbers_);
  }
  /// The code in row i of a factor or a logical column.
  std::uint32_t code(std::size_t i) const { return codes_[i]; }
  /// All codes of a factor or a logical column.
  std::span<const std::uint32_t> codes() const { return codes_; }
  /// Level names of a factor; FALSE and TRUE of a logical column; empty for numbers.
  const std::vector<std::string>& levels() const { return levels_; }
  /// Row i in words, as R's as.character has it; "NA" where it is missing.
  std::string spelling(std::size_t i) const;

  /// Set if the column is a factor only because of some entries among numbers.
  const std::optional<TextAmongNumbers>& text_among_numbers() const { return text_among_numbers_; }
  void set_text_among_numbers(TextAmongNumbers where) { text_among_numbers_ = std::move(where); }

  std::size_t memory() const;  ///< bytes held

 private:
  Column(std::string name, ColumnKind kind, std::size_t rows);

  std::string name_;
  ColumnKind kind_;
  std::size_t rows_, missing_ = 0;
  std::variant<NumberBlocks, NumberView> numbers_;
  std::vector<std::uint32_t> codes_;
  std::vector<std::string> levels_;
  std::optional<TextAmongNumbers> text_among_numbers_;
};

/// A number as R's as.character and deparse write it: up to 15 digits, and by a power of ten where that is
/// shorter.
std::string spelled_number(double value);

}  // namespace onward
