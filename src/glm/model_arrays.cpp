#include "model_arrays.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "model_data.hpp"
#include "onward/glm/log_likelihood.hpp"
#include "onward/io/array.hpp"

namespace onward::glm {
namespace {

/// The narrowest type that holds what a file has.
NumberType type_for(const std::string& dtype) {
  if (dtype == "|u1" || dtype == "|b1") return NumberType::uint8;
  const bool short_number = dtype == "<f4" || dtype == "|i1" || dtype == "<i2" || dtype == "<u2";
  return short_number ? NumberType::float32 : NumberType::float64;
}

/// X row after row, some of them at a time.
ValueSource rows_of(const ArraySource& source) {
  return [source](const auto& take) {
    std::optional<NpyReader> reader;
    if (!source.held) reader.emplace(source.word);
    const NpyHeader header = reader ? reader->header() : *source.held;
    constexpr std::size_t most = std::size_t{1} << 16;  // numbers in memory
    const std::size_t rows = header.rows(), columns = header.columns(),
                      together = std::max<std::size_t>(most / columns, 1);
    std::vector<double> part;
    if (reader && !header.fortran_order) {
      for (std::size_t first = 0; first < rows; first += together) {
        part.resize(std::min(together, rows - first) * columns);
        reader->next(std::span(part));
        take(part);
      }
      reader->finish();
      return;
    }
    const Array array = reader ? Array(std::move(*reader).read_all()) : *source.held;
    array.visit([&](const auto& values) {
      part.resize(columns);
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j)
          part[j] = static_cast<double>(values[i * header.row_stride() + j * header.column_stride()]);
        take(part);
      }
    });
  };
}

NamedShape by_observation(const std::string& name, std::size_t rows) {
  return {.name = name, .shape = {rows}, .dims = {"observation"}};
}

}  // namespace

ParameterShapes coefficient_arrays(const RegressionPosterior& posterior) {
  const std::size_t width = posterior.design().columns(), classes = posterior.observations().classes();
  const std::size_t first = posterior.design().has_intercept() ? 1 : 0;
  const auto& columns = posterior.options().column_names;
  ParameterShapes arrays;
  /// Columns begin to end, then classes if there are several.
  const auto add = [&](NamedShape variable, std::size_t begin, std::size_t end) {
    if (classes > 1) {
      variable.shape.push_back(classes);
      variable.dims.emplace_back("class");
      variable.coordinates.emplace_back();
      variable.entry_names += ".{}";
    }
    arrays.variables.push_back(std::move(variable));
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t k = 0; k < classes; ++k) arrays.order.push_back(k * width + j);
  };
  const std::size_t thresholds = posterior.reported_coefficients() - posterior.coefficients() + 1;
  if (posterior.observations().family() == Family::ordinal) {
    const std::string entry = posterior.coefficient_names().front();
    add({.name = "intercept",
         .shape = {thresholds},
         .dims = {"threshold"},
         .coordinates = {{}},
         .entry_names = entry.substr(0, entry.find('1')) + "{}" + entry.substr(entry.find('1') + 1)},
        0, thresholds);
    if (width > 1)
      add({.name = "beta",
           .shape = {width - 1},
           .dims = {"predictor"},
           .coordinates = {columns},
           .entry_names = columns.empty() ? "beta.{}" : "{}"},
          thresholds, thresholds + width - 1);
    return arrays;
  }
  if (first > 0)
    add({.name = "intercept", .shape = {}, .entry_names = posterior.options().intercept_name}, 0, 1);
  if (width > first)
    add({.name = "beta",
         .shape = {width - first},
         .dims = {"predictor"},
         .coordinates = {columns},
         .entry_names = columns.empty() ? "beta.{}" : "{}"},
        first, width);
  return arrays;
}

std::vector<DataArray> data_arrays(const OptionValues& given, const BuildFor& what_for,
                                   const RegressionPosterior& posterior) {
  using enum DataArray::Role;
  const std::size_t rows = posterior.observations().rows();
  std::vector<DataArray> arrays;
  const ArraySource source = what_for.array(given, "x");
  const NpyHeader x = source.header();
  arrays.push_back({constant,
                    {.name = "x",
                     .shape = {rows, x.columns()},
                     .dims = {"observation", "predictor"},
                     .coordinates = {{}, posterior.options().column_names}},
                    type_for(x.dtype),
                    rows_of(source)});
  for (const char* field : {"y", "trials", "offset", "weights"})
    if (given.has(field))
      arrays.push_back(
          {field == std::string("y") ? observed : constant, by_observation(field, rows), NumberType::float64,
           [field, from = what_for.array(given, field)](const auto& take) { take(read_rows(field, from)); }});
  return arrays;
}

ParameterShapes parameter_arrays(const RegressionPosterior& posterior) {
  ParameterShapes arrays = coefficient_arrays(posterior);
  for (const std::string& name : posterior.number_names()) {
    arrays.variables.push_back({name, {}});
    arrays.order.push_back(arrays.order.size());
  }
  return arrays;
}

LogLikelihood log_likelihood(const RegressionPosterior& posterior) {
  const auto rows = std::make_shared<const RowLogLikelihood>(posterior);
  return {by_observation("y", rows->rows()),
          [rows](std::span<const double> parameters, std::span<double> out) { (*rows)(parameters, out); },
          [rows](std::span<const double> parameters, std::size_t first, std::span<double> out) {
            rows->part(parameters, first, out);
          }};
}

}  // namespace onward::glm
