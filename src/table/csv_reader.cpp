#include "csv_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "csv_number.hpp"
#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward::detail {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;
constexpr std::size_t longest_record = 1 << 26;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The separator that occurs most often outside quotes.
char detect_separator(std::string_view line) {
  std::array<std::pair<char, std::size_t>, 3> counts{{{',', 0}, {';', 0}, {'\t', 0}}};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == '\n' && !quoted) break;
    for (auto& [separator, count] : counts)
      if (c == separator && !quoted) ++count;
  }
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
}

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, char separator, std::vector<std::string> na)
    : file_(path, {.name = "CSV file", .remedy = "Write it again as CSV in UTF-8, plain or by gzip"}),
      separator_(separator),
      na_(std::move(na)),
      buffer_(buffer_bytes) {
  read_header();
}

void CsvReader::fail(std::size_t line, const std::string& what) const {
  file_.require_unchanged();
  throw Error(fmt::format("{}:{}: {}", file_.path().string(), line, what));
}

/// More bytes into the buffer, behind those that are there; false if there are none. The character behind the
/// last one is 0, and a last line that has no end gets one.
bool CsvReader::refill() {
  if (whole_) return false;
  if (next_ > 0) std::memmove(buffer_.data(), buffer_.data() + next_, end_ - next_);
  end_ -= next_;
  next_ = 0;
  constexpr std::size_t spare = 2;  // for the line end and the 0
  if (end_ + spare >= buffer_.size()) {
    if (buffer_.size() > longest_record) {
      if (open_quote_ > 0) fail(open_quote_, "a quote is opened here and not closed within 64 MiB.");
      fail(line_, "the line is longer than 64 MiB; this is hardly a CSV file.");
    }
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t room = buffer_.size() - end_ - spare;
  const std::size_t came = file_.read(std::as_writable_bytes(std::span(buffer_).subspan(end_, room)));
  end_ += came;
  if (came < room) {
    whole_ = true;
    if (end_ > 0 && buffer_[end_ - 1] != '\n') buffer_[end_++] = '\n';
  }
  buffer_[end_] = '\0';
  return true;
}

CsvReader::Field CsvReader::scan_quoted(const char* at, std::size_t line) {
  const char* const end = buffer_.data() + end_;
  Field field;
  const char* const first = ++at;
  bool doubled = false;
  for (;; at += 2) {
    const char* const from = at;
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    field.line_ends += static_cast<std::size_t>(std::count(from, at == nullptr ? end : at, '\n'));
    if (at == nullptr || at + 1 == end) {
      open_quote_ = line;
      return {};
    }
    if (at[1] != '"') break;
    doubled = true;
  }
  field.text = {first, static_cast<std::size_t>(at - first)};
  if (doubled) {
    unquoted_.clear();
    for (std::size_t i = 0; i < field.text.size(); ++i) {
      unquoted_ += field.text[i];
      if (field.text[i] == '"') ++i;
    }
    field.text = unquoted_;
  }
  do ++at;
  while (*at == ' ');
  if (at == end || (*at == '\r' && at + 1 == end)) return {};
  if (*at == '\r' && at[1] == '\n') ++at;
  if (*at != separator_ && *at != '\n')
    fail(line + field.line_ends,
         fmt::format("{} follows the closing quote of \"{}\". Quotes within quotes are doubled.",
                     printable({at, 1}), printable(field.text.substr(0, 40))));
  field.stop = *at == separator_ ? Stop::separator : Stop::line_end;
  field.next = at + 1;
  return field;
}

CsvReader::Field CsvReader::scan(const char* at, std::size_t line) {
  if (*at == '"') return scan_quoted(at, line);
  const char* const end = buffer_.data() + end_;
  const char* const first = at;
  while (at != end && *at != separator_ && *at != '\n') ++at;
  if (at == end) return {};
  Field field{.text = {first, static_cast<std::size_t>(at - first)},
              .next = at + 1,
              .stop = *at == separator_ ? Stop::separator : Stop::line_end,
              .line_ends = 0};
  if (field.stop == Stop::line_end && field.text.ends_with('\r')) field.text.remove_suffix(1);
  return field;
}

std::vector<std::string> CsvReader::record_words(const char*& next, std::size_t& lines) {
  for (;;) {
    std::vector<std::string> words;
    lines = 1;
    Field field{.text = {}, .next = buffer_.data() + next_, .stop = Stop::separator, .line_ends = 0};
    while (field.stop == Stop::separator) {
      field = scan(field.next, line_ + lines - 1);
      lines += field.line_ends;
      if (field.stop != Stop::cut) words.emplace_back(field.text);
    }
    next = field.next;
    if (field.stop == Stop::line_end) return words;
    if (!refill()) fail(open_quote_, "a quote is opened here and never closed.");
  }
}

bool CsvReader::skip_blank_line() {
  const char* const at = buffer_.data() + next_;
  const std::size_t length = *at == '\n' ? 1 : *at == '\r' && at[1] == '\n' ? 2 : 0;
  next_ += length;
  line_ += length > 0 ? 1 : 0;
  return length > 0;
}

void CsvReader::read_header() {
  refill();
  if (std::string_view(buffer_.data(), end_).starts_with(byte_order_mark)) next_ = byte_order_mark.size();
  while (skip_blank_line()) {
  }
  if (next_ == end_) throw Error(fmt::format("{} is empty: no header, no rows.", file_.path().string()));
  if (separator_ == '\0') separator_ = detect_separator({buffer_.data() + next_, end_ - next_});
  const char* next = nullptr;
  std::size_t lines = 0;
  names_ = record_words(next, lines);
  for (auto& name : names_) {
    require_text(name, line_, "the header");
    name = trimmed(name);
  }
  next_ = static_cast<std::size_t>(next - buffer_.data());
  line_ += lines;
  while ((next_ < end_ || refill()) && skip_blank_line()) {
  }
  if (next_ == end_) throw Error(fmt::format("{} has a header and no rows.", file_.path().string()));
  if (record_words(next, lines).size() == names_.size() + 1) names_.insert(names_.begin(), "");

  std::unordered_map<std::string, std::size_t> seen;  // and the column that has the name
  for (std::size_t j = 0; j < names_.size(); ++j) {
    if (names_[j].empty() && (j > 0 || names_.size() == 1))
      fail(1, fmt::format("column {} of the header has no name.", j + 1));
    if (const auto [first, fresh] = seen.emplace(names_[j], j + 1); !fresh)
      fail(1, fmt::format("columns {} and {} both have the name {}. Rename one of them in the header.",
                          first->second, j + 1, printable(names_[j])));
  }
}

bool CsvReader::is_missing(std::string_view text) const {
  text = trimmed(text);
  return std::ranges::any_of(na_, [&](const std::string& word) { return word == text; });
}

void CsvReader::require_text(std::string_view text, std::size_t line, std::string_view where) const {
  if (text.find('\0') != std::string_view::npos)
    fail(line, fmt::format("{} has a byte 0: the file is not text in UTF-8.", where));
  if (!is_utf8(text)) {
    const auto shown = printable(text.substr(0, 40));
    fail(line,
         fmt::format("{} has \"{}\", which is not UTF-8. Convert the file, as by iconv.", where, shown));
  }
  if (text.find('\r') != std::string_view::npos && text.find('\n') == std::string_view::npos)
    fail(line,
         fmt::format("{} has a carriage return that ends no line. Lines must end with a line feed.", where));
}

void CsvReader::fail_ragged() {
  const char* next = nullptr;
  std::size_t lines = 0;
  const std::size_t found = record_words(next, lines).size();
  fail(line_, fmt::format("the line has {} field{}, and the lines before it have {} columns (separator {}).",
                          found, found == 1 ? "" : "s", names_.size(),
                          separator_ == '\t' ? "tab" : fmt::format("'{}'", separator_)));
}

/// Reads the record at the front of the buffer; false if the buffer cuts it.
bool CsvReader::read_record(std::vector<ColumnBuilder>& builders) {
  const char* at = buffer_.data() + next_;
  const char separator = separator_;
  const std::size_t last = builders.size() - 1;
  std::size_t line = line_;
  for (std::size_t j = 0; j <= last; ++j) {
    ColumnBuilder& builder = builders[j];
    if (builder.mode() == ColumnBuilder::Mode::number) {
      double value = 0;
      const char* const end = read_decimal(at, value);
      if (end != nullptr && *end == (j == last ? '\n' : separator)) {
        builder.put(rows_, value);
        at = end + 1;
        continue;
      }
    }
    const Field field = scan(at, line);
    if (field.stop == Stop::cut) return false;
    if (field.stop != (j == last ? Stop::line_end : Stop::separator)) fail_ragged();
    if (builder.mode() != ColumnBuilder::Mode::skipped &&
        builder.add(rows_, line, field.text, is_missing(field.text)))
      require_text(field.text, line, "column " + printable(builder.name()));
    line += field.line_ends;
    at = field.next;
  }
  next_ = static_cast<std::size_t>(at - buffer_.data());
  const std::size_t shift = line_ - rows_;
  if (shifts_.empty() || shifts_.back().second != shift) shifts_.emplace_back(rows_, shift);
  line_ = line + 1;
  ++rows_;
  return true;
}

void CsvReader::read(std::vector<ColumnBuilder>& builders) {
  while (next_ < end_ || refill()) {
    if (next_ == end_ || skip_blank_line()) continue;
    if (!read_record(builders)) {
      if (!refill()) fail(open_quote_, "a quote is opened here and never closed.");
      continue;
    }
    if (rows_ % NumberBlocks::block_rows == 0)
      for (auto& builder : builders) builder.seal(rows_);
  }
  if (rows_ % NumberBlocks::block_rows != 0)
    for (auto& builder : builders) builder.seal(rows_);
  file_.require_unchanged();
}

}  // namespace onward::detail
