#include "onward/table/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "csv_reader.hpp"
#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "unknown_column.hpp"

namespace onward {
namespace {

using detail::ColumnBuilder;
using detail::CsvReader;
using Mode = ColumnBuilder::Mode;

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

void require_separator(char separator) {
  if (separator != '\0' && separator != ',' && separator != ';' && separator != '\t')
    throw UsageError(fmt::format("`separator` is '{}'; it may be a comma, a semicolon or a tab.",
                                 printable({&separator, 1})));
}

void require_known(const std::vector<std::string>& wanted, const std::vector<std::string>& names,
                   const std::filesystem::path& path) {
  for (const auto& name : wanted)
    if (!contains(names, name)) detail::fail_unknown_column(path.string(), name, names);
}

/// Text that came after numbers: those columns once more, from the beginning, as text.
void read_spoiled_again(const std::filesystem::path& path, const ReadTableOptions& options,
                        std::vector<ColumnBuilder>& builders, std::size_t rows) {
  std::vector<ColumnBuilder> again;
  for (const auto& builder : builders)
    again.emplace_back(builder.name(), builder.mode() == Mode::spoiled ? Mode::text : Mode::skipped);
  if (!std::filesystem::is_regular_file(path)) {
    const auto spoiled = std::ranges::find(builders, Mode::spoiled, &ColumnBuilder::mode);
    const auto& where = *spoiled->text_among_numbers();
    throw Error(
        fmt::format("{}:{}: column {} has \"{}\" where numbers came before. To be read as text, the file "
                    "would have to be read twice, which it cannot be: name the column among `text`, or "
                    "read from a plain file.",
                    path.string(), where.line, spoiled->name(), printable(where.text)));
  }
  CsvReader reader(path, options.separator, options.na);
  if (reader.names().size() != builders.size())
    throw Error(fmt::format("{} changed while it was being read.", path.string()));
  reader.read(again);
  if (reader.rows() != rows) throw Error(fmt::format("{} changed while it was being read.", path.string()));
  for (std::size_t j = 0; j < builders.size(); ++j) {
    if (builders[j].mode() != Mode::spoiled) continue;
    again[j].set_text_among_numbers(builders[j].text_among_numbers());
    builders[j] = std::move(again[j]);
  }
}

}  // namespace

Table read_table(const std::filesystem::path& path, const ReadTableOptions& options) {
  require_separator(options.separator);
  CsvReader reader(path, options.separator, options.na);
  require_known(options.keep, reader.names(), path);
  require_known(options.text, reader.names(), path);

  std::vector<ColumnBuilder> builders;
  for (const auto& name : reader.names()) {
    const bool wanted = !name.empty() && (options.keep.empty() || contains(options.keep, name));
    builders.emplace_back(name, !wanted                        ? Mode::skipped
                                : contains(options.text, name) ? Mode::text
                                                               : Mode::number);
  }
  reader.read(builders);
  if (std::ranges::find(builders, Mode::spoiled, &ColumnBuilder::mode) != builders.end())
    read_spoiled_again(path, options, builders, reader.rows());

  std::vector<Column> columns;
  std::vector<std::string> notes;
  if (reader.names().front().empty())
    notes.emplace_back("The first column has no name; it is taken for R's row names and left out.");
  for (auto& builder : builders) {
    if (builder.mode() == Mode::skipped) continue;
    if (builder.has_decimal_commas())
      notes.push_back(
          fmt::format("Column {} has numbers with decimal commas, which are read as text. Write them "
                      "with decimal points.",
                      builder.name()));
    columns.push_back(builder.finish(reader.rows(), !contains(options.text, builder.name())));
  }
  Table table(std::move(columns), path.string());
  table.set_lines(reader.shifts());
  for (auto& note : notes) table.add_note(std::move(note));
  return table;
}

}  // namespace onward
