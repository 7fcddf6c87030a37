#pragma once
// Runs without options: what someone gets who asks for nothing. On posteriors whose answers are known, from
// random starts, so that getting there counts as well.

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bench/posteriors/default_run.hpp"

namespace onward::bench {

struct DefaultsOptions {
  std::vector<std::string> only;  ///< empty: all
  std::string posteriordb;        ///< folder with its data and answers; empty: without its posteriors
  std::size_t seeds = 1;          ///< 1, 2, ... up to this
  std::size_t threads = 0;        ///< 0: as many as chains and cores allow
};

struct DefaultsResult {
  std::vector<DefaultFigures> runs;
  bool complete = true;
};

DefaultsResult defaults(const DefaultsOptions& options, const Hears& hears, const std::atomic<bool>& stop);
/// Five of posteriordb and five of ours whose chains get lost: how many runs have an R-hat below 1.01.
std::vector<std::string> arriving_posteriors(const std::string& posteriordb);

std::vector<Row> default_rows(const DefaultsResult& result);
std::vector<Row> arrives_rows(const DefaultsResult& result);

}  // namespace onward::bench
