#include "onward/io/netcdf_sink.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"

namespace onward {
namespace {

/// Where statistics are in a row: those from tree_depth on are of samplers that follow trajectories.
enum Statistic : std::size_t {
  n_steps,
  evaluations,
  nonfinite,
  curvature_floored,
  tree_depth,
  reached_max_treedepth,
  diverging,
  energy,
  steps_halved,
  all_statistics
};

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
  if (find_sampler(s.sampler).follows_trajectories)
    layout.statistics.insert(layout.statistics.end(), {{"tree_depth", Kind::count},
                                                       {"reached_max_treedepth", Kind::flag},
                                                       {"diverging", Kind::flag},
                                                       {"energy"},
                                                       {"steps_halved", Kind::count}});
  if (const auto depth = s.sampler_options.find("max_depth"); depth != s.sampler_options.end())
    layout.attributes.emplace_back("max_depth", depth->dump());
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
      rows_(resolved.chains),
      follows_(find_sampler(resolved.sampler).follows_trajectories),
      max_depth_(resolved.sampler_options.value("max_depth", std::numeric_limits<double>::infinity())) {
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
  // ArviZ has the leapfrogs of a trajectory for its steps.
  const TrajectoryInfo t = draw.trajectory ? *draw.trajectory : TrajectoryInfo{};
  const std::uint64_t steps = draw.trajectory ? t.leapfrogs : draw.since.steps;
  const double all[all_statistics] = {static_cast<double>(steps),
                                      static_cast<double>(draw.since.evaluations),
                                      static_cast<double>(draw.since.nonfinite),
                                      static_cast<double>(draw.since.floored),
                                      static_cast<double>(t.depth),
                                      t.depth >= max_depth_ ? 1.0 : 0.0,
                                      t.divergent ? 1.0 : 0.0,
                                      t.energy,
                                      static_cast<double>(t.halved)};
  const std::span<const double> statistics = std::span(all).first(follows_ ? all_statistics : tree_depth);
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
    std::vector<double> statistics(follows_ ? std::size_t{all_statistics} : 0);
    for (std::size_t d = 0; d < record.draws; ++d) {
      record.log_density.push_back(writer_.read(chain, d, values, statistics));
      if (follows_)
        record.followed.push_back({.depth = static_cast<std::uint32_t>(statistics[tree_depth]),
                                   .leapfrogs = static_cast<std::uint32_t>(statistics[n_steps]),
                                   .halved = static_cast<std::uint32_t>(statistics[steps_halved]),
                                   .divergent = statistics[diverging] > 0,
                                   .energy = statistics[energy]});
      const std::size_t begin = record.values.size();
      record.values.resize(begin + values.size());
      for (std::size_t k = 0; k < values.size(); ++k) record.values[begin + order[k]] = values[k];
    }
  }
  return records;
}

}  // namespace onward
