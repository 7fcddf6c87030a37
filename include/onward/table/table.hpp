#pragma once
// A table of typed columns of one length. Copies share the columns, so that whoever needs a few of them can
// keep them while the rest is given back.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onward/table/column.hpp"

namespace onward {

class Table {
 public:
  /// Columns of equal length with different names. `source` is what messages call the table.
  explicit Table(std::vector<Column> columns, std::string source = "the table");

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_.size(); }
  const Column& column(std::size_t j) const { return *columns_[j]; }
  std::vector<std::string> names() const;
  /// The column of this name, or nothing.
  std::shared_ptr<const Column> look_up(std::string_view name) const;
  /// The column of this name; an Error that suggests the nearest name if there is none.
  std::shared_ptr<const Column> find(std::string_view name) const;

  /// What the reader wants the user to know.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& source() const { return source_; }
  /// The line of the file on which row i (counted from 0) begins; 0 for tables that come from memory.
  std::size_t line_of_row(std::size_t i) const;
  /// "FILE:LINE" or, for tables from memory, "row 7" (counted from 1).
  std::string place_of_row(std::size_t i) const;

  std::size_t memory() const;  ///< bytes held by the columns
  /// Gives the columns back, but for those that somebody else keeps. Places of rows can still be asked for.
  void give_back_columns() { columns_.clear(); }

  /// For readers: rows from `row` on begin `shift` lines after line `row` (counted from 0). Sorted by row.
  void set_lines(std::vector<std::pair<std::size_t, std::size_t>> shifts) { shifts_ = std::move(shifts); }
  void add_note(std::string note) { notes_.push_back(std::move(note)); }

 private:
  std::vector<std::shared_ptr<const Column>> columns_;
  std::size_t rows_ = 0;
  std::string source_;
  std::vector<std::string> notes_;
  std::vector<std::pair<std::size_t, std::size_t>> shifts_;
};

}  // namespace onward
