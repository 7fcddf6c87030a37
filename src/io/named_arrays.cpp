#include "onward/io/named_arrays.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <numeric>

#include "onward/io/csv_names.hpp"

namespace onward {
namespace {

struct Split {
  std::string base;
  std::vector<std::size_t> index;  // counted from 1
};

/// theta.3.1 is theta at (3, 1): as many numbers as are indices.
Split split(const std::string& name, std::size_t indices) {
  Split result{name, {}};
  while (result.index.size() < indices) {
    const std::size_t dot = result.base.rfind('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == result.base.size()) break;
    std::size_t number = 0;
    const char* end = result.base.data() + result.base.size();
    const auto [at, error] = std::from_chars(result.base.data() + dot + 1, end, number);
    if (error != std::errc{} || at != end || number == 0) break;
    result.index.insert(result.index.begin(), number);
    result.base.resize(dot);
  }
  return result;
}

/// A variable whose first entry is called `first_entry`.
NamedShape named(const std::string& name, const std::vector<std::size_t>& shape,
                 const std::string& first_entry) {
  NamedShape variable{name, shape};
  if (shape.empty() && first_entry == name) return variable;
  variable.entry_names = split(first_entry, shape.size()).base;
  for (std::size_t k = 0; k < shape.size(); ++k) variable.entry_names += ".{}";
  return variable;
}

}  // namespace

std::size_t NamedShape::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

ParameterShapes parameter_shapes(const std::vector<std::string>& names,
                                 const std::vector<std::size_t>& indices) {
  struct Variable {
    std::size_t rank;
    std::map<std::vector<std::size_t>, std::size_t> entries;  // by index, in order: last index fastest
  };
  // Names as files can have them, so that readers of CSV and netCDF see the same.
  const CsvNames in_file = csv_names(names, indices);
  std::vector<std::string> plain(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) plain[in_file.order[k]] = in_file.columns[k];
  std::vector<std::string> order;
  std::map<std::string, Variable> variables;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    Split name = split(plain[i], indices.empty() ? plain[i].size() : indices[i]);
    const auto [at, is_new] = variables.try_emplace(name.base, Variable{name.index.size(), {}});
    if (is_new) order.push_back(name.base);
    at->second.entries.emplace(std::move(name.index), i);
  }
  ParameterShapes shapes;
  for (const auto& base : order) {
    const Variable& variable = variables.at(base);
    std::vector<std::size_t> shape(variable.rank, 0);
    bool whole = true;
    for (const auto& [index, i] : variable.entries) {
      whole = whole && index.size() == variable.rank;
      for (std::size_t d = 0; whole && d < index.size(); ++d) shape[d] = std::max(shape[d], index[d]);
    }
    std::size_t size = 1;
    for (const std::size_t extent : shape) size *= extent;
    whole = whole && size == variable.entries.size();
    if (whole) shapes.variables.push_back(named(base, shape, names[variable.entries.begin()->second]));
    for (const auto& [index, i] : variable.entries) {
      if (!whole) shapes.variables.push_back(named(plain[i], {}, names[i]));
      shapes.order.push_back(i);
    }
  }
  return shapes;
}

}  // namespace onward
