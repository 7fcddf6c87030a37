#pragma once
// Makes the netCDF file from the plain files of draws: netCDF defines it, HDF5 takes the compressed chunks.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "draw_files.hpp"
#include "netcdf_library.hpp"
#include "onward/io/netcdf.hpp"

namespace onward::detail {

/// A variable of a group without draws; its values begin at `place` of the file of constants.
struct Constant {
  std::string group;
  NamedShape variable;
  NumberType type = NumberType::float64;
  std::uint64_t place = 0;
};

/// Bytes of a number.
std::size_t width_of(NumberType type);

/// What goes into a file.
struct NetcdfContent {
  const NetcdfLayout& layout;
  const NetcdfOptions& options;
  const RowLayout& rows;
  const std::vector<Constant>& constants;
  int constants_file;
  std::vector<std::size_t> draws;  ///< of each chain
};

/// A file with everything defined and the coordinates, but no draws yet, as bytes: made in memory, since a
/// disk that is full makes HDF5 crash. Error if a name or a dimension clashes.
std::string define_netcdf(const std::filesystem::path& path, const NetcdfContent& content);

/// Fills a defined file.
void fill_netcdf(const std::filesystem::path& path, const NetcdfContent& content,
                 const std::vector<std::unique_ptr<DrawFile>>& chains);

/// The name by which netCDF takes a variable: no slash, and a letter, digit or underscore at its begin.
std::string netcdf_name(const std::string& name);

/// How many draws of a variable with so many entries share a chunk; a power of two, or all draws.
std::size_t chunk_draws(std::size_t entries, std::size_t draws);

/// How a variable's entries are cut into chunks of so many draws.
Cut chunk_cut(const std::vector<std::size_t>& shape, std::size_t draws_together);

}  // namespace onward::detail
