#pragma once
// What the netCDF writer and reader share: the libraries' one lock, their errors, and how arrays are cut up.

#include <netcdf.h>

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace onward::detail {

/// Neither netCDF nor HDF5 may be entered by two threads at once, whatever the files.
std::mutex& netcdf_mutex();

/// Throws Error for what netCDF or HDF5 could not do; the system's own reason (a full disk) comes first.
[[noreturn]] void throw_netcdf_error(std::string_view action, const std::filesystem::path& path,
                                     std::string_view reason);

/// Calls that must give NC_NOERR.
class NetcdfCalls {
 public:
  NetcdfCalls(std::string_view action, const std::filesystem::path& path) : action_(action), path_(path) {}
  void operator()(int status) const {
    if (status != NC_NOERR) throw_netcdf_error(action_, path_, nc_strerror(status));
  }

 private:
  std::string_view action_;
  const std::filesystem::path& path_;
};

/// An array with the last index fastest, cut into ranges of successive entries that are also boxes: one index
/// of each dimension before `dim`, up to `width` of dim, and all of those after it.
struct Cut {
  std::vector<std::size_t> shape;
  std::size_t dim = 0, width = 1, inner = 1;

  struct Box {
    std::vector<std::size_t> start, count;
    std::size_t first = 0, size = 1;  ///< in successive entries
  };

  /// Boxes of at most so many entries (at least 1).
  Cut(std::vector<std::size_t> shape, std::size_t most);
  std::size_t most() const { return width * inner; }
  /// The box that begins with entry `first`, which begins one; the next begins with first + size.
  Box box(std::size_t first) const;
  /// Where the box of an entry begins.
  std::size_t begin_of(std::size_t entry) const;
  /// A full box's shape.
  std::vector<std::size_t> chunk() const;
};

}  // namespace onward::detail
