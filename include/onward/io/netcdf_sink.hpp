#pragma once
// Writes the draws of a run to draws.nc, as ArviZ lays them out.

#include <string>
#include <vector>

#include "onward/io/netcdf.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/run/run.hpp"

namespace onward {

/// Parameters by name and shape: theta.1 to theta.8 are one variable. Names that do not fill a box of indices
/// stay single numbers.
struct ParameterShapes {
  std::vector<NamedShape> variables;
  std::vector<std::size_t>
      order;  ///< which parameter each value is, variable after variable, last index fastest
};

/// `indices`: how many of the numbers that each name ends in are indices, as for csv_names().
ParameterShapes parameter_shapes(const std::vector<std::string>& names,
                                 const std::vector<std::size_t>& indices = {});

class NetcdfSink final : public Sink {
 public:
  /// With a checkpoint the draws are there, and are cut back to its own.
  NetcdfSink(const RunFolder& folder, const std::string& model, const RunSettings& resolved,
             const std::vector<std::string>& names, const std::vector<std::size_t>& indices = {},
             bool single_precision = false, const Checkpoint* resumed = nullptr);

  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override;
  void finished(std::size_t) override {}
  void make_durable() override { writer_.sync(); }

  /// The draws that were there when the run was resumed.
  std::vector<ChainRecord> earlier();
  /// Makes draws.nc of what has come.
  void close() { writer_.close(); }

 private:
  ParameterShapes shapes_;
  NetcdfWriter writer_;
  std::size_t chains_;
  std::vector<std::vector<double>> values_;  // of each chain, in the file's order
};

}  // namespace onward
