#pragma once
// Writes each chain's draws to its own CSV file in a run folder, as they come.

#include <string>
#include <vector>

#include "onward/io/run_folder.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/run/run.hpp"
#include "onward/util/clock.hpp"

namespace onward {

class CsvSink final : public Sink {
 public:
  /// Opens all files at once, so that a folder that cannot be written fails before anything is sampled. With
  /// a checkpoint the files are there: each is cut back to the draws of its chain there, and goes on.
  /// `indices`: how many of the numbers that each name ends in are indices; empty: all.
  CsvSink(const RunFolder& folder, const std::string& model, const RunSettings& resolved,
          const std::vector<std::string>& names, const std::vector<std::size_t>& indices = {},
          const Checkpoint* resumed = nullptr);

  void warmed_up(std::size_t chain, double step_size, const Metric& metric) override;
  void drawn(std::size_t chain, const Draw& draw) override;
  void finished(std::size_t chain) override;
  void flush(std::size_t chain) override { files_[chain].writer.flush(); }
  void make_durable() override;

 private:
  struct File {
    StanCsvWriter writer;
    Clock::time_point flushed;
  };
  std::vector<File> files_;
  bool adapts_;
};

}  // namespace onward
