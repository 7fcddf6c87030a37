#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "onward/error.hpp"
#include "onward/io/csv_names.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/util/decimal.hpp"
#include "stan_csv_text.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

using detail::name_of;
using detail::trimmed;

std::size_t parse_count(const std::optional<std::string>& text, std::size_t otherwise) {
  if (!text) return otherwise;
  std::size_t count = otherwise;
  std::from_chars(text->data(), text->data() + text->size(), count);
  return count;
}

/// Reads a file line by line into a StanCsv.
class Parser {
 public:
  explicit Parser(const std::filesystem::path& path) : path_(path) {}

  StanCsv parse(std::string_view text) {
    while (!text.empty()) {
      ++line_number_;
      const auto end = text.find('\n');
      const bool complete = end != std::string_view::npos;
      std::string_view line = text.substr(0, end);
      text.remove_prefix(complete ? end + 1 : text.size());
      line = trimmed(line);
      if (line.empty()) continue;
      if (line.front() == '#' && !complete)
        continue;  // half a comment would say something else
      else if (line.front() == '#')
        comment(trimmed(line.substr(1)));
      else if (!complete)
        incomplete();
      else if (csv_.columns.empty())
        header(line);
      else
        row(line);
    }
    if (csv_.columns.empty())
      throw Error(
          fmt::format("{}: no line with column names: empty, or not a CmdStan CSV file.", path_.string()));
    find_warmup();
    return std::move(csv_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}:{}: {}", path_.string(), line_number_, what));
  }

  void incomplete() {
    if (csv_.columns.empty())
      fail("the file ends within the line of column names: it was cut short before its first draw.");
    csv_.incomplete_last_line = true;
  }

  void comment(std::string_view text) {
    constexpr std::string_view step_size = "Step size =";
    if (text.starts_with("Adaptation terminated")) {
      adaptation_row_ = csv_.rows();
    } else if (text.starts_with(step_size)) {
      csv_.step_size = parse_decimal(trimmed(text.substr(step_size.size())));
      if (!csv_.step_size) fail(fmt::format("'{}' is not a number.", trimmed(text.substr(step_size.size()))));
    } else if (text.find("lements of inverse mass matrix") != std::string_view::npos) {
      in_metric_ = true;
      return;
    } else if (in_metric_ && metric_row(text)) {
      return;
    } else if (const auto equals = text.find('='); equals != std::string_view::npos) {
      setting(trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1)));
    }
    in_metric_ = false;
  }

  void setting(std::string_view key, std::string_view value) {
    constexpr std::string_view marker = "(Default)";
    if (value.ends_with(marker) && !key.starts_with(name_of))
      value = trimmed(value.substr(0, value.size() - marker.size()));
    csv_.settings.emplace_back(key, value);
  }

  /// A comment that is a list of numbers; false if it is something else.
  bool metric_row(std::string_view text) {
    std::vector<double> numbers;
    while (true) {
      const auto comma = text.find(',');
      const auto number = parse_decimal(trimmed(text.substr(0, comma)));
      if (!number) return false;
      numbers.push_back(*number);
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    csv_.inverse_metric.insert(csv_.inverse_metric.end(), numbers.begin(), numbers.end());
    return true;
  }

  void header(std::string_view line) {
    for (bool more = true; more;) {
      const auto comma = line.find(',');
      more = comma != std::string_view::npos;
      const auto name = trimmed(line.substr(0, comma));
      if (name.empty()) fail(fmt::format("column {} has no name.", csv_.columns.size() + 1));
      if (parse_decimal(trimmed(name)))
        fail(fmt::format("'{}' where column names are expected: not a CmdStan CSV file.", name));
      csv_.columns.emplace_back(name);
      csv_.names.push_back(called(name));
      if (more) line.remove_prefix(comma + 1);
    }
  }

  /// The name of a column: what comes before its indices may be called otherwise.
  std::string called(std::string_view column) const {
    const std::string_view base = column.substr(0, column.find('.'));
    for (const auto& [key, value] : csv_.settings)
      if (key.size() == name_of.size() + base.size() && key.starts_with(name_of) && key.ends_with(base))
        return value + std::string(column.substr(base.size()));
    return std::string(column);
  }

  void row(std::string_view line) {
    in_metric_ = false;
    const std::size_t start = csv_.values.size();
    for (bool more = true; more;) {
      const auto comma = line.find(',');
      more = comma != std::string_view::npos;
      const std::size_t column = csv_.values.size() - start;
      const auto number = parse_decimal(trimmed(line.substr(0, comma)));
      if (!number) {
        const std::string name =
            column < csv_.columns.size() ? csv_.columns[column] : std::to_string(column + 1);
        fail(fmt::format("'{}' in column {} is not a number.", trimmed(line.substr(0, comma)), name));
      }
      csv_.values.push_back(*number);
      if (more) line.remove_prefix(comma + 1);
    }
    const std::size_t count = csv_.values.size() - start;
    if (count != csv_.columns.size())
      fail(fmt::format("{} numbers where the header names {} columns.", count, csv_.columns.size()));
  }

  void find_warmup() {
    const auto saved = csv_.setting("save_warmup");
    if (!saved || *saved == "0" || *saved == "false") return;
    const std::size_t thin = std::max<std::size_t>(parse_count(csv_.setting("thin"), 1), 1);
    const std::size_t planned = (parse_count(csv_.setting("num_warmup"), 0) + thin - 1) / thin;
    // CmdStan writes the adaptation block where warm-up ends; a run cut short before has nothing but warm-up.
    csv_.warmup_rows = adaptation_row_.value_or(std::min(planned, csv_.rows()));
  }

  std::filesystem::path path_;
  std::size_t line_number_ = 0;
  std::optional<std::size_t> adaptation_row_;
  bool in_metric_ = false;
  StanCsv csv_;
};

}  // namespace

std::vector<double> StanCsv::column(std::size_t index) const {
  if (index >= columns.size())
    throw Error(fmt::format("column {} of a file with {} columns", index, columns.size()));
  std::vector<double> out;
  out.reserve(draws());
  for (std::size_t row = warmup_rows; row < rows(); ++row)
    out.push_back(values[row * columns.size() + index]);
  return out;
}

std::optional<std::size_t> StanCsv::find_column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::vector<std::size_t> StanCsv::parameter_columns() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!is_sampler_column(columns[i])) indices.push_back(i);
  return indices;
}

std::optional<std::string> StanCsv::setting(std::string_view key) const {
  for (const auto& [name, value] : settings)
    if (name == key) return value;
  return std::nullopt;
}

bool is_sampler_column(std::string_view name) { return name.ends_with("__"); }

StanCsv read_stan_csv(const std::filesystem::path& path) {
  return Parser(path).parse(detail::read_whole(path));
}

}  // namespace onward
