#include "system_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "onward/error.hpp"

namespace onward::detail {
namespace {

std::string_view remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "Free some space, or write to another disk";
    case EFBIG:
      return "Raise the limit on file sizes (ulimit -f), or keep fewer draws";
    case EACCES:
    case EPERM:
      return "Check the permissions, or choose another place";
    case EROFS:
      return "Choose a place that can be written to";
    case EEXIST:
      return "Choose another name, or ask to overwrite it";
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
      return "Check the name";
    case EMFILE:
    case ENFILE:
      return "Run fewer chains at once, or raise the limit on open files (ulimit -n)";
    default:
      return "Check the disk, or choose another place";
  }
}

}  // namespace

void throw_system_error(std::string_view action, const std::filesystem::path& path, int error) {
  throw Error(fmt::format("cannot {} {}: {}. {}.", action, path.string(),
                          std::generic_category().message(error), remedy(error)));
}

int open_for_writing(const std::filesystem::path& path, bool exclusive) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (exclusive ? O_EXCL : O_TRUNC);
  const int file = ::open(path.c_str(), flags, 0666);
  if (file < 0) throw_system_error("write", path, errno);
  return file;
}

std::size_t write_fully(int file, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = ::write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0) {
      if (errno == EINTR) continue;
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void sync_file(int file, const std::filesystem::path& path) {
  // Pipes and some file systems cannot be asked; that is no failure to write.
  if (::fsync(file) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
    throw_system_error("write", path, errno);
}

void sync_folder(const std::filesystem::path& directory) {
  const int folder = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

std::string read_whole(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw_system_error("read", path, errno);
  // Not by the size alone: pipes have none, and a file may grow while its run goes on.
  struct stat status {};
  const bool sized = ::fstat(file, &status) == 0 && status.st_size > 0;
  std::string bytes(sized ? static_cast<std::size_t>(status.st_size) + 1 : 4096, '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == bytes.size()) bytes.resize(2 * size);
    const auto count = ::read(file, bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::close(file);
      throw_system_error("read", path, error);
    }
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  ::close(file);
  bytes.resize(size);
  return bytes;
}

void write_whole(const std::filesystem::path& path, std::string_view bytes) {
  const int file = open_for_writing(path, false);
  const bool written = write_fully(file, bytes) == bytes.size();
  const int error = errno;
  const bool closed = ::close(file) == 0;
  if (!written) throw_system_error("write", path, error);
  if (!closed) throw_system_error("write", path, errno);
}

}  // namespace onward::detail
