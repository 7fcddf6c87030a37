#pragma once
// Writes each chain's draws to its own CSV file in a run folder, as they come.

#include <chrono>
#include <string>
#include <vector>

#include "onward/io/run_folder.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/run/run.hpp"

namespace onward {

class CsvListener : public DrawListener {
 public:
  /// Opens all files at once, so that a folder that cannot be written fails before anything is sampled.
  /// `indices`: how many of the numbers that each name ends in are indices; empty: all.
  CsvListener(const RunFolder& folder, const std::string& model, const RunSettings& resolved,
              const std::vector<std::string>& names, const std::vector<std::size_t>& indices = {});

  void warmed_up(std::size_t chain, double step_size, const Metric& metric) override;
  void drawn(std::size_t chain, const Draw& draw) override;
  void finished(std::size_t chain) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct File {
    StanCsvWriter writer;
    Clock::time_point flushed;
  };
  std::vector<File> files_;
  bool adapts_;
};

}  // namespace onward
