#pragma once
// The records of a CSV file, one after the other through a buffer, into columns.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../io/input_file.hpp"
#include "column_builder.hpp"

namespace onward::detail {

class CsvReader {
 public:
  /// Opens the file and reads its header. `separator` may be 0: then the header decides.
  CsvReader(const std::filesystem::path& path, char separator, std::vector<std::string> na);

  /// The names in the header; the first is empty if the first column has none, as R writes row names.
  const std::vector<std::string>& names() const { return names_; }
  char separator() const { return separator_; }

  /// Reads all records; there is a builder for each name.
  void read(std::vector<ColumnBuilder>& builders);

  std::size_t rows() const { return rows_; }
  /// As Table::set_lines takes them.
  std::vector<std::pair<std::size_t, std::size_t>> shifts() { return std::move(shifts_); }

 private:
  enum class Stop { separator, line_end, cut };
  struct Field {
    std::string_view text;
    const char* next = nullptr;  // behind what ended it
    Stop stop = Stop::cut;       // what ended it: `cut` is the end of the buffer
    std::size_t line_ends = 0;   // within its quotes
  };

  bool refill();
  Field scan(const char* at, std::size_t line);
  Field scan_quoted(const char* at, std::size_t line);
  /// The record at the front of the buffer as words; refills as needed. `next` is where the next one begins.
  std::vector<std::string> record_words(const char*& next, std::size_t& lines);
  void read_header();
  bool skip_blank_line();
  bool read_record(std::vector<ColumnBuilder>& builders);
  bool is_missing(std::string_view text) const;
  void require_text(std::string_view text, std::size_t line, std::string_view where) const;
  [[noreturn]] void fail(std::size_t line, const std::string& what) const;
  [[noreturn]] void fail_ragged();

  InputFile file_;
  char separator_;
  std::vector<std::string> na_;
  std::vector<std::string> names_;
  std::vector<char> buffer_;
  std::size_t next_ = 0, end_ = 0;  // the part of the buffer that is still to be used
  bool whole_ = false;              // the file ends with the buffer
  std::size_t line_ = 1;            // of the record at next_
  std::size_t open_quote_ = 0;      // the line on which the quote began that the buffer cut
  std::size_t rows_ = 0;
  std::string unquoted_;
  std::vector<std::pair<std::size_t, std::size_t>> shifts_;
};

}  // namespace onward::detail
