#pragma once
// The funnel's table in pieces, and the file that keeps those which are finished.

#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "funnel.hpp"
#include "funnel_registers.hpp"

namespace onward::experiments {

/// What a row of a table is made of. Tables share jobs: most kernels take as many steps at equal evaluations.
struct Job {
  std::size_t dim;
  std::string sampler;
  std::size_t steps;
  bool operator==(const Job&) const = default;
};

/// One unit of work: the chains of a register for one job.
struct Piece {
  Job job;
  std::size_t first_chain;
  std::size_t lanes;
  std::string key() const {
    return fmt::format("{}/{}/{}/{}/{}", job.dim, job.sampler, job.steps, first_chain, lanes);
  }
};

struct PieceResult {
  std::vector<ChainSums> sums;  // step sizes x lanes
  double seconds = 0, random_seconds = 0;
};

/// Finished pieces on disk, a line for each; a line that was cut short by a kill is passed over, and its
/// piece is done again.
class Checkpoint {
 public:
  explicit Checkpoint(const FunnelSettings& settings);

  /// Nothing if the piece is yet to be done. It must have `sums` sums.
  const PieceResult* find(const Piece& piece, std::size_t sums) const;

  void add(const Piece& piece, const PieceResult& result);

  /// The price of a step as it was measured the first time, so that a run that goes on has the same lengths.
  double seconds_per_step(const std::string& key, const std::function<double()>& measure);

 private:
  void write(const nlohmann::json& json);

  std::string path_;
  std::map<std::string, double> seconds_per_step_;
  std::map<std::string, PieceResult> done_;
  std::ofstream out_;
};

}  // namespace onward::experiments
