#pragma once
// Draws in netCDF-4 files laid out as ArviZ's InferenceData, which xarray and ArviZ read: one group each for
// posterior, sample_stats and so on, with dimensions chain, draw and those of the parameters themselves.
//
// An HDF5 file whose process is killed may be lost as a whole, so draws do not go there as they come. They go
// to plain files beside it, one for each chain (draws.nc.chain-1, ...), which a kill at any moment leaves
// readable and which are cut back by truncation. close() turns them into the netCDF file, in bounded memory,
// and removes them. docs/decisions/netcdf.md has the measurements.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onward/io/named_arrays.hpp"

namespace onward {

/// A statistic of the sampler: a number, an integer, or 0 and 1 for false and true.
struct NamedStatistic {
  enum class Kind { number, count, flag };
  std::string name;
  Kind kind = Kind::number;
};

/// What a file of draws holds. Groups without variables are left out; every variable's values follow each
/// other in the order of the list. Variables without entries (a dimension of 0) are left out too.
struct NetcdfLayout {
  std::size_t chains = 1;
  std::vector<NamedShape> posterior;
  std::vector<NamedShape> unconstrained_posterior = {};
  std::vector<NamedShape> log_likelihood = {};
  std::vector<NamedStatistic> statistics = {};  ///< besides lp, acceptance_rate and step_size
  std::vector<std::pair<std::string, std::string>> attributes = {};  ///< for every group, besides ArviZ's own
};

struct NetcdfOptions {
  bool single_precision = false;         ///< of all draws, not of the statistics
  int deflate = 1;                       ///< 0 (none) to 9
  std::size_t threads = 1;               ///< that compress in close()
  std::size_t buffer_bytes = 256 << 10;  ///< for each chain, or one draw if that is more
};

/// One draw of one chain; each span as long as the layout says.
struct NetcdfDraw {
  double lp = 0, acceptance_rate = 0, step_size = 0;
  std::span<const double> parameters;
  std::span<const double> unconstrained = {};
  std::span<const double> log_likelihood = {};
  std::span<const double> statistics = {};
};

/// Writes draws as they come. Different chains may draw at the same time on different threads. Every failure
/// throws Error with file, reason and remedy.
class NetcdfWriter {
 public:
  enum class IfExists { fail, overwrite };

  /// Throws at once what would go wrong in close(): a folder that cannot be written, names that clash.
  NetcdfWriter(std::filesystem::path path, NetcdfLayout layout, const NetcdfOptions& options = {},
               IfExists if_exists = IfExists::fail);

  /// Goes on with a file that was closed, or with one that was not because its process was killed. Of each
  /// chain the first draws[chain] are kept. Throws Error if there are fewer or the layout was another.
  /// Constants are to be given again.
  static NetcdfWriter reopen(std::filesystem::path path, NetcdfLayout layout, const NetcdfOptions& options,
                             std::span<const std::size_t> draws);

  NetcdfWriter(NetcdfWriter&&) noexcept;
  NetcdfWriter& operator=(NetcdfWriter&&) noexcept;
  /// Without close() before, the plain files stay for reopen().
  ~NetcdfWriter();

  void draw(std::size_t chain, const NetcdfDraw& draw);

  /// A variable that is no draw, for a group such as observed_data or constant_data.
  void constant(const std::string& group, const NamedShape& variable, std::span<const double> values);
  /// The same of values that come in parts, to be stored as numbers of this type. They go to a file without a
  /// name until close(), not to memory.
  void constant(const std::string& group, const NamedShape& variable, NumberType type,
                const ValueSource& values);

  /// Hands everything so far to the operating system.
  void flush();
  /// The same, and waits until the disk has it: what a checkpoint that counts on these draws calls first.
  void sync();

  /// Makes the netCDF file, as a whole or not at all, and removes the plain files. Chains shorter than the
  /// longest one are filled up with NaN. After an Error the plain files are still there, and close() may be
  /// called again.
  void close();

  std::size_t draws(std::size_t chain) const;
  /// A draw that was flushed, counted from 0: the values of the posterior, last index fastest; returns lp.
  /// `statistics`: room for those of the layout, if they are wanted.
  double read(std::size_t chain, std::size_t draw, std::span<double> parameters,
              std::span<double> statistics = {}) const;

 private:
  struct Impl;
  explicit NetcdfWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads one group of a file of ours or of ArviZ's: variables with dimensions chain, draw and their own.
/// Throws Error with the file's name for whatever is not one.
class NetcdfReader {
 public:
  explicit NetcdfReader(std::filesystem::path path, const std::string& group = "posterior");
  NetcdfReader(NetcdfReader&&) noexcept;
  NetcdfReader& operator=(NetcdfReader&&) noexcept;
  ~NetcdfReader();

  std::size_t chains() const;
  /// Of the longest chain.
  std::size_t draws() const;
  /// Of one chain: an interrupted run may have chains of different lengths.
  std::size_t draws(std::size_t chain) const;
  const std::vector<NamedShape>& variables() const;

  /// As the file says what its entries are called (NamedShape::entry_names), else as ArviZ writes it: mu,
  /// theta[3], beta[age, yes]. Entries are counted with the last index fastest.
  std::string entry_name(std::size_t variable, std::size_t entry) const;

  /// The draws of one entry, a vector for each chain. Going through the entries in order reads the file about
  /// once; memory is that of one entry or 64 MB, whichever is more.
  std::vector<std::vector<double>> column(std::size_t variable, std::size_t entry);

  /// All entries of one chain's draws first to first + count, a draw after the other.
  void read_rows(std::size_t variable, std::size_t chain, std::size_t first, std::size_t count,
                 std::span<double> out);

  /// A text attribute of the group.
  std::optional<std::string> attribute(const std::string& name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace onward
