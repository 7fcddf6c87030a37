#include "onward/io/csv_sink.hpp"

#include <fmt/format.h>

#include "onward/sampler/samplers.hpp"

namespace onward {

CsvSink::CsvSink(const RunFolder& folder, const std::string& model, const RunSettings& resolved,
                 const std::vector<std::string>& names, const std::vector<std::size_t>& indices,
                 const Checkpoint* resumed)
    : adapts_(!resolved.step_size || *resolved.metric != MetricKind::none) {
  StanCsvHeader header;
  header.model = model;
  header.sampler = resolved.sampler;
  header.seed = *resolved.seed;
  header.draws = resolved.draws;
  header.warmup = *resolved.warmup;
  header.thin = *resolved.thin;
  header.extra = {{"metric", std::string(to_string(*resolved.metric))},
                  {"temperature", fmt::format("{}", resolved.temperature)}};
  for (const auto& [option, value] : resolved.sampler_options.items())
    header.extra.emplace_back(option, value.is_string() ? value.get<std::string>() : value.dump());
  header.parameter_names = names;
  header.parameter_indices = indices;
  for (std::size_t chain = 0; chain < resolved.chains; ++chain) {
    header.chain_id = chain + 1;
    const auto path = folder.chain_csv(chain + 1);
    if (resumed)
      files_.push_back({StanCsvWriter::resume(path, header, resumed->chains[chain].draws), Clock::now()});
    else
      files_.push_back({StanCsvWriter(path, header), Clock::now()});
  }
  for (auto& file : files_) file.writer.flush();
}

void CsvSink::warmed_up(std::size_t chain, double step_size, const Metric& metric) {
  files_[chain].writer.adaptation(step_size, metric.variances(), adapts_);
}

void CsvSink::drawn(std::size_t chain, const Draw& draw) {
  File& file = files_[chain];
  std::optional<StanCsvTrajectory> trajectory;
  if (const TrajectoryInfo* t = draw.trajectory)
    trajectory = {t->depth, t->leapfrogs, t->divergent, t->energy};
  file.writer.draw(draw.log_density, draw.acceptance, draw.step_size, draw.parameters, trajectory);
  // Once a second is enough for whoever looks at the file while it grows, or after the machine stops.
  if (const auto now = Clock::now(); now - file.flushed > std::chrono::seconds(1)) {
    file.writer.flush();
    file.flushed = now;
  }
}

void CsvSink::finished(std::size_t chain) { files_[chain].writer.finish(); }

void CsvSink::make_durable() {
  for (File& file : files_) file.writer.sync();
}

}  // namespace onward
