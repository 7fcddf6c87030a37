#include "onward/io/netcdf_sink.hpp"

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward {
namespace {

NetcdfLayout layout_of(const NetcdfContents& contents, const std::string& model, const RunSettings& s) {
  using Kind = NamedStatistic::Kind;
  NetcdfLayout layout{
      .chains = s.chains,
      .posterior = contents.posterior.variables,
      .statistics = {{"n_steps", Kind::count},
                     {"evaluations", Kind::count},
                     {"nonfinite", Kind::count},
                     {"curvature_floored", Kind::count}},
      .attributes = {{"model", model}, {"sampler", s.sampler}, {"seed", std::to_string(*s.seed)}}};
  if (contents.unconstrained) layout.unconstrained_posterior = contents.unconstrained->variables;
  if (contents.log_likelihood) layout.log_likelihood = {contents.log_likelihood->shape};
  return layout;
}

NetcdfWriter make_writer(const RunFolder& folder, NetcdfLayout layout, const NetcdfOptions& options,
                         const Checkpoint* resumed) {
  if (!resumed) return {folder.netcdf(), std::move(layout), options};
  std::vector<std::size_t> draws;
  for (const auto& chain : resumed->chains) draws.push_back(chain.draws);
  return NetcdfWriter::reopen(folder.netcdf(), std::move(layout), options, draws);
}

void put_in_order(std::span<const double> values, const std::vector<std::size_t>& order,
                  std::vector<double>& out) {
  out.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) out[k] = values[order[k]];
}

}  // namespace

NetcdfSink::NetcdfSink(const RunFolder& folder, const std::string& model, const RunSettings& resolved,
                       NetcdfContents contents, const NetcdfOptions& options, const Checkpoint* resumed)
    : contents_(std::move(contents)),
      writer_(make_writer(folder, layout_of(contents_, model, resolved), options, resumed)),
      rows_(resolved.chains) {
  for (const DataArray& array : contents_.data)
    writer_.constant(array.role == DataArray::Role::observed ? "observed_data" : "constant_data", array.shape,
                     array.type, array.values);
}

void NetcdfSink::drawn(std::size_t chain, const Draw& draw) {
  Row& row = rows_[chain];
  put_in_order(draw.parameters, contents_.posterior.order, row.parameters);
  if (contents_.unconstrained) {
    const auto& order = contents_.unconstrained->order;
    if (draw.position.size() != order.size())
      throw UsageError(
          fmt::format("`unconstrained` asks for the {} numbers that are sampled, but this sampler gives {}: "
                      "leave it out, or choose another sampler",
                      order.size(), draw.position.size()));
    put_in_order(draw.position, order, row.unconstrained);
  }
  if (contents_.log_likelihood) {
    row.log_likelihood.resize(contents_.log_likelihood->shape.size());
    contents_.log_likelihood->at(draw.parameters, row.log_likelihood);
  }
  const double statistics[] = {
      static_cast<double>(draw.since.steps), static_cast<double>(draw.since.evaluations),
      static_cast<double>(draw.since.nonfinite), static_cast<double>(draw.since.floored)};
  writer_.draw(chain, {.lp = draw.log_density,
                       .acceptance_rate = draw.acceptance,
                       .step_size = draw.step_size,
                       .parameters = row.parameters,
                       .unconstrained = row.unconstrained,
                       .log_likelihood = row.log_likelihood,
                       .statistics = statistics});
}

std::vector<ChainRecord> NetcdfSink::earlier() {
  std::vector<ChainRecord> records(rows_.size());
  const std::vector<std::size_t>& order = contents_.posterior.order;
  for (std::size_t chain = 0; chain < records.size(); ++chain) {
    ChainRecord& record = records[chain];
    record.draws = writer_.draws(chain);
    std::vector<double> values(order.size());
    for (std::size_t d = 0; d < record.draws; ++d) {
      record.log_density.push_back(writer_.read(chain, d, values));
      const std::size_t begin = record.values.size();
      record.values.resize(begin + values.size());
      for (std::size_t k = 0; k < values.size(); ++k) record.values[begin + order[k]] = values[k];
    }
  }
  return records;
}

}  // namespace onward
