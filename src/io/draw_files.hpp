#pragma once
// The plain files to which draws go as they come, one for each chain: a header that says what a row holds,
// then one row for each draw. Nothing behind the last whole row counts, so that a kill at any moment loses at
// most what had not been written.
//
// A row: lp, acceptance rate, step size and further statistics as doubles; then the values of the posterior,
// the unconstrained posterior and the log likelihood, as doubles or floats, last index fastest.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "onward/io/netcdf.hpp"

namespace onward::detail {

/// Where a variable's values are in a row.
struct RowPlace {
  std::string group;
  NamedShape variable;
  NamedStatistic::Kind kind = NamedStatistic::Kind::number;
  std::size_t offset = 0;  ///< bytes from the row's begin
  std::size_t width = 8;   ///< bytes of a value
};

struct RowLayout {
  std::vector<RowPlace> places;  ///< in the row's order, without gaps
  std::size_t bytes = 0;
  std::string header;  ///< of the file: equal headers mean equal rows

  RowLayout(const NetcdfLayout& layout, bool single_precision);
};

class DrawFile {
 public:
  /// An empty file, replacing any other.
  DrawFile(std::filesystem::path path, const RowLayout& rows, std::size_t buffer_bytes);
  /// The first `draws` of an existing file; Error if it has fewer or was written for other rows.
  DrawFile(std::filesystem::path path, const RowLayout& rows, std::size_t buffer_bytes, std::size_t draws);
  DrawFile(const DrawFile&) = delete;
  DrawFile& operator=(const DrawFile&) = delete;
  ~DrawFile();

  /// Room for the next row, which append() then takes.
  std::span<std::byte> row();
  void append();
  void flush();
  void sync();
  std::size_t draws() const { return on_disk_ + buffered_; }
  /// A part of each of successive rows, one after the other. Rows must have been flushed.
  void read(std::size_t first, std::size_t count, std::size_t offset, std::size_t bytes,
            std::byte* out) const;

  std::mutex mutex;  ///< whoever appends, flushes or syncs holds it

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::size_t header_bytes_, row_bytes_;
  std::size_t on_disk_ = 0, buffered_ = 0;  // rows
  std::vector<std::byte> buffer_;
};

/// draws.nc.chain-1 for draws.nc and chain 0.
std::filesystem::path draw_file_path(const std::filesystem::path& netcdf, std::size_t chain);

/// All of so many bytes from a place in a file; Error if they are not there.
void read_at(int file, const std::filesystem::path& path, std::uint64_t place, std::span<std::byte> out);

}  // namespace onward::detail
