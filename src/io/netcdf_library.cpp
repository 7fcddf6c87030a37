#include "netcdf_library.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward::detail {

std::mutex& netcdf_mutex() {
  static std::mutex mutex;
  return mutex;
}

void throw_netcdf_error(std::string_view action, const std::filesystem::path& path, std::string_view reason) {
  // The libraries say "HDF error" for a full disk, but leave errno as the system set it.
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, EMFILE, EIO})
    if (errno == error) throw_system_error(action, path, error);
  throw Error(fmt::format("cannot {} {}: {}.", action, path.string(), reason));
}

Cut::Cut(std::vector<std::size_t> array, std::size_t most) : shape(std::move(array)) {
  if (shape.empty()) return;
  dim = shape.size() - 1;
  while (dim > 0 && inner * shape[dim] <= most) inner *= shape[dim--];
  width = std::clamp<std::size_t>(most / inner, 1, shape[dim]);
  const std::size_t boxes = (shape[dim] + width - 1) / width;
  width = (shape[dim] + boxes - 1) /
          boxes;  // of about equal sizes: the last one is stored as large as the others
}

std::size_t Cut::begin_of(std::size_t entry) const {
  if (shape.empty()) return 0;
  const std::size_t along = shape[dim] * inner;
  const std::size_t outer = entry / along;
  return outer * along + (entry % along) / most() * most();
}

Cut::Box Cut::box(std::size_t first) const {
  Box result;
  result.first = first;
  if (shape.empty()) return result;
  result.start.assign(shape.size(), 0);
  result.count = shape;
  std::size_t rest = first / inner;
  result.start[dim] = rest % shape[dim];
  result.count[dim] = std::min(width, shape[dim] - result.start[dim]);
  rest /= shape[dim];
  for (std::size_t k = dim; k-- > 0;) {
    result.start[k] = rest % shape[k];
    result.count[k] = 1;
    rest /= shape[k];
  }
  result.size = result.count[dim] * inner;
  return result;
}

std::vector<std::size_t> Cut::chunk() const {
  std::vector<std::size_t> result = shape;
  for (std::size_t k = 0; k < dim && k < result.size(); ++k) result[k] = 1;
  if (!result.empty()) result[dim] = width;
  return result;
}

}  // namespace onward::detail
