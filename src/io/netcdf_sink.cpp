#include "onward/io/netcdf_sink.hpp"

#include <algorithm>
#include <charconv>
#include <map>

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

NetcdfLayout layout_of(const ParameterShapes& shapes, const std::string& model, const RunSettings& s) {
  return {.chains = s.chains,
          .posterior = shapes.variables,
          .attributes = {{"model", model}, {"sampler", s.sampler}, {"seed", std::to_string(*s.seed)}}};
}

NetcdfWriter make_writer(const RunFolder& folder, NetcdfLayout layout, bool single_precision,
                         const Checkpoint* resumed) {
  const NetcdfOptions options{.single_precision = single_precision};
  if (!resumed) return {folder.netcdf(), std::move(layout), options};
  std::vector<std::size_t> draws;
  for (const auto& chain : resumed->chains) draws.push_back(chain.draws);
  return NetcdfWriter::reopen(folder.netcdf(), std::move(layout), options, draws);
}

}  // namespace

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
    if (whole) shapes.variables.push_back({base, shape});
    for (const auto& [index, i] : variable.entries) {
      if (!whole) shapes.variables.push_back({plain[i], {}});
      shapes.order.push_back(i);
    }
  }
  return shapes;
}

NetcdfSink::NetcdfSink(const RunFolder& folder, const std::string& model, const RunSettings& resolved,
                       const std::vector<std::string>& names, const std::vector<std::size_t>& indices,
                       bool single_precision, const Checkpoint* resumed)
    : shapes_(parameter_shapes(names, indices)),
      writer_(make_writer(folder, layout_of(shapes_, model, resolved), single_precision, resumed)),
      chains_(resolved.chains),
      values_(resolved.chains, std::vector<double>(names.size())) {}

void NetcdfSink::drawn(std::size_t chain, const Draw& draw) {
  std::vector<double>& values = values_[chain];
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = draw.parameters[shapes_.order[k]];
  writer_.draw(chain, {.lp = draw.log_density,
                       .acceptance_rate = draw.acceptance,
                       .step_size = draw.step_size,
                       .parameters = values});
}

std::vector<ChainRecord> NetcdfSink::earlier() {
  std::vector<ChainRecord> records(chains_);
  for (std::size_t chain = 0; chain < chains_; ++chain) {
    ChainRecord& record = records[chain];
    record.draws = writer_.draws(chain);
    std::vector<double> values(shapes_.order.size());
    for (std::size_t d = 0; d < record.draws; ++d) {
      record.log_density.push_back(writer_.read(chain, d, values));
      const std::size_t begin = record.values.size();
      record.values.resize(begin + values.size());
      for (std::size_t k = 0; k < values.size(); ++k) record.values[begin + shapes_.order[k]] = values[k];
    }
  }
  return records;
}

}  // namespace onward
