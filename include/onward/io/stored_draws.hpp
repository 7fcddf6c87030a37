#pragma once
// The draws of a run, read back from its files by the names of its parameters: CSV files of chains (ours and
// CmdStan's), or one netCDF file (ours and ArviZ's).
//
//     auto stored = onward::read_stored_draws(onward::files_of_draws("onward-out"));
//     onward::Chains mu = stored.column(0);          // the draws of stored.names[0]

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onward/diagnostics/convergence.hpp"
#include "onward/diagnostics/trajectories.hpp"

namespace onward {

struct StoredDraws {
  std::vector<std::string> names;  ///< of the parameters
  std::size_t chains = 0;          ///< that have draws
  std::size_t draws = 0;           ///< of the shortest of them
  std::size_t longest = 0;         ///< draws of the longest
  std::size_t all_chains = 0;      ///< those without draws included
  std::vector<std::string> notes;  ///< what the user should know of the files
  /// The draws of one parameter, chains without draws left out. Several threads may call it at a time; it is
  /// quickest if they ask for the parameters in order.
  std::function<Chains(std::size_t parameter)> column;
  /// What the sampler tells with each draw: "lp", the log density, or "acceptance_rate", and with
  /// trajectories "tree_depth", "n_steps", "diverging" and "energy"; empty if the files do not have it.
  /// Chains as in `column`.
  std::function<Chains(std::string_view name)> statistic;
  /// What the files say of the run under this name, such as "model".
  std::function<std::optional<std::string>(std::string_view key)> setting;

  /// Every parameter at every draw: chain after chain, draw after draw, as many draws of each chain as the
  /// shortest has. The parameters are in the order of `wanted`. Throws Error if one of them is not there.
  std::vector<double> rows(std::span<const std::string> wanted) const;
};

/// What the trajectories did, chain by chain; empty if the files are of a sampler that follows none.
std::vector<ChainTrajectories> trajectories_in(const StoredDraws& stored);

/// The files of draws in a run's folder: CSV files where there are some, else draws.nc. Throws Error if
/// there are neither.
std::vector<std::filesystem::path> files_of_draws(const std::filesystem::path& folder);

/// Throws UsageError if a netCDF file is one of several, Error for files that are no chains of one run or
/// have no draws. `progress` hears on the calling thread how many files are read.
StoredDraws read_stored_draws(const std::vector<std::filesystem::path>& files,
                              const std::function<void(std::size_t done)>& progress = {});

}  // namespace onward
