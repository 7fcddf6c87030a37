#pragma once
// Writes the draws of a run to draws.nc, as ArviZ lays them out.

#include <optional>
#include <string>
#include <vector>

#include "onward/io/named_arrays.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/run/run.hpp"

namespace onward {

/// HDF5 reports each of its errors on stderr, also those that netCDF expects, unless it is told not to by the
/// thread that it happens in. Whoever shares this process with other users of netCDF calls this in their
/// threads.
void silence_hdf5();

/// What draws.nc holds besides the statistics of the sampler.
struct NetcdfContents {
  ParameterShapes posterior;
  std::optional<ParameterShapes> unconstrained = {};  ///< of Draw::position
  std::optional<LogLikelihood> log_likelihood = {};
  std::vector<DataArray> data = {};
};

class NetcdfSink final : public Sink {
 public:
  /// With a checkpoint the draws are there, and are cut back to its own.
  NetcdfSink(const RunFolder& folder, const std::string& model, const RunSettings& resolved,
             NetcdfContents contents, const NetcdfOptions& options = {}, const Checkpoint* resumed = nullptr);

  bool wants_counts() const override { return true; }
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override;
  void finished(std::size_t) override {}
  void make_durable() override { writer_.sync(); }

  /// The draws that were there when the run was resumed.
  std::vector<ChainRecord> earlier();
  /// Makes draws.nc of what has come.
  void close() { writer_.close(); }

 private:
  struct Row {
    std::vector<double> parameters, unconstrained, log_likelihood;  // in the file's order
  };
  NetcdfContents contents_;
  NetcdfWriter writer_;
  std::vector<Row> rows_;  // of each chain
  bool follows_ = false;   // trajectories
  double max_depth_ = 0;
};

}  // namespace onward
