#pragma once
// Writes each chain's draws, in the space that is sampled, to chain-N.npy: a row of floats for each draw.

#include <vector>

#include "onward/io/npy_rows.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/run/run.hpp"

namespace onward {

class NpySink final : public Sink {
 public:
  /// Makes the files at once; with a checkpoint they are there, and are cut back to its draws.
  NpySink(const RunFolder& folder, std::size_t dimension, std::size_t chains,
          const Checkpoint* resumed = nullptr);
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override { files_[chain].append(draw.position); }
  void finished(std::size_t chain) override { files_[chain].sync(); }
  void make_durable() override;

 private:
  std::vector<NpyRowWriter> files_;
};

}  // namespace onward
