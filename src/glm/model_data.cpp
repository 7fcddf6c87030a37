#include "model_data.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward::glm {

std::vector<double> read_rows(const std::string& field, const ArraySource& source) {
  const Array array = source.read();
  if (array.shape.empty() || array.shape.size() > 2)
    throw Error(fmt::format("`{}` {} has shape ({}): it must hold one number a row", field, source.word,
                            fmt::join(array.shape, ", ")));
  if (array.shape.size() == 2 && array.shape[0] != 1 && array.shape[1] != 1)
    throw Error(fmt::format("`{}` {} holds {} x {} numbers: it must hold one a row", field, source.word,
                            array.rows(), array.columns()));
  return array.to_doubles();
}

Design read_design(const ArraySource& source, bool intercept, std::span<const std::string> names) {
  std::optional<NpyReader> reader;
  if (!source.held) reader.emplace(source.word);
  const NpyHeader header = reader ? reader->header() : *source.held;
  const auto whole = [&] { return reader ? Array(std::move(*reader).read_all()) : *source.held; };
  if (header.shape.empty() || header.shape.size() > 2)
    throw Error(
        fmt::format("`x` {} has shape ({}): it must have two dimensions, one row for each observation",
                    source.word, fmt::join(header.shape, ", ")));
  if (header.dtype == "|u1" && !header.fortran_order)
    return Design::bytes(whole().as<std::uint8_t>(), header.rows(), header.columns(), 1, 0, intercept);
  if (reader && !header.fortran_order) {  // not all of it need be in memory at once
    Design design = Design::from_rows(
        header.rows(), header.columns(), intercept,
        [&](std::size_t, std::span<double> row) { reader->next(row); }, names);
    reader->finish();
    return design;
  }
  const Array array = whole();
  std::optional<Design> design;
  array.visit([&](const auto& values) {
    design = Design::from_rows(
        header.rows(), header.columns(), intercept,
        [&](std::size_t i, std::span<double> row) {
          for (std::size_t j = 0; j < row.size(); ++j)
            row[j] = static_cast<double>(values[i * header.row_stride() + j * header.column_stride()]);
        },
        names);
  });
  return std::move(*design);
}

std::vector<std::string> read_names(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw Error(fmt::format("`names` {} cannot be read: give a file with a name a line", file));
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::size_t number = names.size() + 1;
    if (!is_utf8(line))
      throw Error(
          fmt::format("`names` {}: line {} is not UTF-8: save the file in that encoding", file, number));
    const bool control =
        std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (control)
      throw Error(fmt::format("`names` {}: line {} has a control character, such as a tab: take it out", file,
                              number));
    if (line.empty() || line.find_first_of(",\"") != std::string::npos)
      throw Error(
          fmt::format("`names` {}: line {} is '{}': a name must not be empty nor have commas or quotes", file,
                      number, line));
    names.push_back(line);
  }
  if (names.empty())
    throw Error(
        fmt::format("`names` {} is empty: it must have a name for each column of X, a line each", file));
  return names;
}

}  // namespace onward::glm
