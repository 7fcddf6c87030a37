#include "onward/table/column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "level_table.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/util/printable.hpp"

namespace onward {
namespace {

constexpr double exact_integers = 1 << 24;  // below it a float has every integer
constexpr double tolerance = 1e-6;          // of the range

std::size_t count_missing(std::span<const std::uint32_t> codes) {
  return static_cast<std::size_t>(std::ranges::count(codes, Column::missing_code));
}

template <class T>
Column converted(std::string name, std::span<const T> values) {
  NumberBlocks blocks;
  std::vector<double> block;
  for (std::size_t first = 0; first < values.size(); first += NumberBlocks::block_rows) {
    const auto part = values.subspan(first, std::min(NumberBlocks::block_rows, values.size() - first));
    block.assign(part.begin(), part.end());
    blocks.append(block);
  }
  return Column::numbers(std::move(name), std::move(blocks), values.size());
}

}  // namespace

void NumberBlocks::append(std::span<const double> block) {
  double error = 0;
  bool integers_exact = true;
  for (const double x : block) {
    if (std::isnan(x)) {
      ++missing_;
      continue;
    }
    const double lost = std::abs(x - static_cast<double>(static_cast<float>(x)));
    if (std::isinf(x)) continue;
    low_ = std::min(low_, x);
    high_ = std::max(high_, x);
    error = std::max(error, lost);
    integers_exact = integers_exact && (lost == 0 || std::abs(x) < exact_integers || x != std::floor(x));
  }
  const bool as_floats = !blocks_.empty() && integers_exact && error <= tolerance * (high_ - low_);
  if (as_floats)
    blocks_.emplace_back(std::vector<float>(block.begin(), block.end()));
  else
    blocks_.emplace_back(std::vector<double>(block.begin(), block.end()));
}

double NumberBlocks::operator[](std::size_t i) const {
  const auto& block = blocks_[i / block_rows];
  const std::size_t at = i % block_rows;
  if (const auto* floats = std::get_if<std::vector<float>>(&block)) return static_cast<double>((*floats)[at]);
  return std::get<std::vector<double>>(block)[at];
}

void NumberBlocks::read(std::size_t first, std::span<double> out) const {
  while (!out.empty()) {
    const std::size_t at = first % block_rows;
    const std::size_t count = std::min(out.size(), block_rows - at);
    std::visit(
        [&](const auto& block) {
          std::copy_n(block.begin() + static_cast<std::ptrdiff_t>(at), count, out.begin());
        },
        blocks_[first / block_rows]);
    first += count;
    out = out.subspan(count);
  }
}

std::size_t NumberBlocks::memory() const {
  std::size_t bytes = 0;
  for (const auto& block : blocks_)
    bytes += std::visit([](const auto& values) { return values.size() * sizeof(values[0]); }, block);
  return bytes;
}

template <class F>
auto NumberView::with_type(F&& f) const {
  return std::visit(
      [&]<class T>(T) {
        return f([this](std::size_t i) {
          T value;  // entries need not be aligned
          std::memcpy(&value, first_ + static_cast<std::ptrdiff_t>(i) * stride_, sizeof(T));
          return static_cast<double>(value);
        });
      },
      type_);
}

NumberView::NumberView(const std::string& column, std::string_view dtype, const std::byte* first,
                       std::size_t rows, std::ptrdiff_t stride)
    : first_(first), stride_(stride) {
  if (element_bytes(dtype) == 0)
    throw UsageError(
        fmt::format("the column {} has entries of type '{}', which are not read: give little-endian numbers, "
                    "such as column.astype('<f8')",
                    printable(column), dtype));
  detail::with_npy_type(dtype, [&](auto zero) { type_ = zero; });
  with_type([&](const auto& entry) {
    for (std::size_t i = 0; i < rows; ++i) missing_ += std::isnan(entry(i));
  });
}

double NumberView::operator[](std::size_t i) const {
  return with_type([i](const auto& entry) { return entry(i); });
}

void NumberView::read(std::size_t first, std::span<double> out) const {
  with_type([&](const auto& entry) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = entry(first + i);
  });
}

Column::Column(std::string name, ColumnKind kind, std::size_t rows)
    : name_(std::move(name)), kind_(kind), rows_(rows) {}

Column Column::numbers(std::string name, NumberBlocks blocks, std::size_t rows) {
  Column column(std::move(name), ColumnKind::number, rows);
  column.missing_ = blocks.missing();
  column.numbers_ = std::move(blocks);
  return column;
}

Column Column::view(std::string name, std::string_view dtype, const std::byte* first, std::size_t rows,
                    std::ptrdiff_t stride) {
  Column column(std::move(name), ColumnKind::number, rows);
  const NumberView& view = column.numbers_.emplace<NumberView>(column.name_, dtype, first, rows, stride);
  column.missing_ = view.missing();
  return column;
}

Column Column::numbers(std::string name, std::span<const double> values) {
  return converted(std::move(name), values);
}
Column Column::numbers(std::string name, std::span<const float> values) {
  return converted(std::move(name), values);
}
Column Column::numbers(std::string name, std::span<const std::int32_t> values) {
  return converted(std::move(name), values);
}
Column Column::numbers(std::string name, std::span<const std::int64_t> values) {
  return converted(std::move(name), values);
}

Column Column::text(std::string name, std::span<const std::string> values, std::span<const std::string> na) {
  detail::LevelTable levels;
  std::vector<std::uint32_t> codes;
  codes.reserve(values.size());
  for (const std::string& value : values)
    codes.push_back(std::ranges::find(na, value) != na.end() ? missing_code : levels.code(value));
  auto sorted = levels.sorted(codes);
  return factor(std::move(name), std::move(codes), std::move(sorted));
}

Column Column::factor(std::string name, std::vector<std::uint32_t> codes, std::vector<std::string> levels) {
  for (const auto code : codes)
    if (code != missing_code && code >= levels.size())
      throw UsageError(fmt::format("column {}: code {} where there are {} levels; codes count from 0.", name,
                                   code, levels.size()));
  Column column(std::move(name), ColumnKind::factor, codes.size());
  column.missing_ = count_missing(codes);
  column.codes_ = std::move(codes);
  column.levels_ = std::move(levels);
  return column;
}

Column Column::logical(std::string name, std::vector<std::uint32_t> codes) {
  Column column = factor(std::move(name), std::move(codes), {"FALSE", "TRUE"});
  column.kind_ = ColumnKind::logical;
  return column;
}

double Column::number(std::size_t i) const {
  if (kind_ == ColumnKind::number)
    return std::visit([i](const auto& numbers) { return numbers[i]; }, numbers_);
  return codes_[i] == missing_code ? std::numeric_limits<double>::quiet_NaN() : codes_[i];
}

void Column::read(std::size_t first, std::span<double> out) const {
  if (kind_ == ColumnKind::number) {
    std::visit([&](const auto& numbers) { numbers.read(first, out); }, numbers_);
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = number(first + i);
}

std::string Column::spelling(std::size_t i) const {
  if (kind_ != ColumnKind::number) return codes_[i] == missing_code ? "NA" : levels_[codes_[i]];
  const double value = number(i);
  if (std::isnan(value)) return "NA";
  if (!is_float(i) || !std::isfinite(value)) return spelled_number(value);
  // What was 0.1 in the file is to be so again.
  const std::string shortest = fmt::format("{}", static_cast<float>(value));
  double decimal = value;
  std::from_chars(shortest.data(), shortest.data() + shortest.size(), decimal);
  return spelled_number(decimal);
}

std::size_t Column::memory() const {
  std::size_t bytes = std::visit([](const auto& numbers) { return numbers.memory(); }, numbers_) +
                      codes_.capacity() * sizeof(std::uint32_t);
  for (const auto& level : levels_) bytes += sizeof(std::string) + level.capacity();
  return bytes;
}

std::string spelled_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  if (value == 0) return "0";
  const std::string scientific = fmt::format("{:.14e}", std::abs(value));  // d.dddddddddddddde+XX
  const auto e = scientific.find('e');
  std::string digits = scientific.substr(0, 1) + scientific.substr(2, e - 2);
  digits.erase(digits.find_last_not_of('0') + 1);
  const int exponent = std::stoi(scientific.substr(e + 1));
  const int significant = static_cast<int>(digits.size());
  const int decimals = std::max(0, significant - 1 - exponent);
  const int fixed_width = std::max(exponent, 0) + 1 + (decimals > 0 ? decimals + 1 : 0);
  const int power_width = significant + (significant > 1 ? 1 : 0) + (std::abs(exponent) >= 100 ? 5 : 4);
  if (fixed_width <= power_width) return fmt::format("{:.{}f}", value, decimals);
  return fmt::format("{:.{}e}", value, significant - 1);
}

}  // namespace onward
