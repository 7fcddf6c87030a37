#include "onward/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"
#include "unknown_column.hpp"

namespace onward {

void detail::fail_unknown_column(std::string_view source, std::string_view name,
                                 const std::vector<std::string>& known) {
  constexpr std::size_t few = 20;
  std::string hint = suggestion(name, known);
  if (hint.empty() && known.size() <= few) hint = fmt::format(" Its columns: {}.", joined(known));
  throw UsageError(fmt::format("{} has no column {}.{}", source, name, hint));
}

Table::Table(std::vector<Column> columns, std::string source) : source_(std::move(source)) {
  if (columns.empty()) throw UsageError(fmt::format("{} has no columns.", source_));
  rows_ = columns.front().rows();
  if (rows_ == 0) throw Error(fmt::format("{} has no rows.", source_));
  std::unordered_set<std::string> names;
  columns_.reserve(columns.size());
  for (Column& column : columns) {
    if (column.name().empty())
      throw UsageError(fmt::format("{}: column {} has no name.", source_, columns_.size() + 1));
    if (!names.insert(column.name()).second)
      throw UsageError(fmt::format("{} has two columns of the name {}.", source_, column.name()));
    if (column.rows() != rows_)
      throw UsageError(fmt::format("{}: column {} has {} rows where {} has {}.", source_, column.name(),
                                   column.rows(), columns_.front()->name(), rows_));
    columns_.push_back(std::make_shared<const Column>(std::move(column)));
  }
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> names;
  names.reserve(columns_.size());
  for (const auto& column : columns_) names.push_back(column->name());
  return names;
}

std::shared_ptr<const Column> Table::look_up(std::string_view name) const {
  const auto found =
      std::ranges::find_if(columns_, [&](const auto& column) { return column->name() == name; });
  return found == columns_.end() ? nullptr : *found;
}

std::shared_ptr<const Column> Table::find(std::string_view name) const {
  if (auto found = look_up(name)) return found;
  detail::fail_unknown_column(source_, name, names());
}

std::size_t Table::line_of_row(std::size_t i) const {
  const auto after = std::ranges::upper_bound(shifts_, i, {}, &std::pair<std::size_t, std::size_t>::first);
  return after == shifts_.begin() ? 0 : i + std::prev(after)->second;
}

std::string Table::place_of_row(std::size_t i) const {
  if (const std::size_t line = line_of_row(i); line > 0) return fmt::format("{}:{}", source_, line);
  return fmt::format("row {} of {}", i + 1, source_);
}

std::size_t Table::memory() const {
  std::size_t bytes = 0;
  for (const auto& column : columns_) bytes += column->memory();
  return bytes;
}

}  // namespace onward
