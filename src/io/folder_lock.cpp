#include "onward/io/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "onward/error.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// The process that wrote its number into the lock file; 0 if there is none to be read.
pid_t process_in(int descriptor) {
  std::array<char, 16> text{};
  const auto size = ::pread(descriptor, text.data(), text.size(), 0);
  pid_t process = 0;
  if (size > 0) std::from_chars(text.data(), text.data() + size, process);
  return process > 0 ? process : 0;
}

/// Whether the open file is still the one of that name: its last holder may just have removed it.
bool same_file(int descriptor, const fs::path& file) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(file.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

FolderLock::FolderLock(const fs::path& directory) : file_(directory / file_name), owner_(::getpid()) {
  // More than one try: holder() takes the lock for a moment, and a file may vanish as it is opened.
  constexpr int tries = 10;
  pid_t process = 0;
  for (int i = 0; i < tries; ++i) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) detail::throw_system_error("write to the folder", directory, errno);
    const bool locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    const bool held = !locked && errno == EWOULDBLOCK;
    if (!held && same_file(descriptor_, file_)) {
      // Only for messages, so a full disk does not matter.
      const std::string number = fmt::format("{}\n", owner_);
      if (::ftruncate(descriptor_, 0) == 0) detail::write_fully(descriptor_, number);
      return;
    }
    process = held ? process_in(descriptor_) : 0;
    ::close(std::exchange(descriptor_, -1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw Error(fmt::format(
      "a run is writing to the folder {}{}. Choose another folder, or wait until that run has ended.",
      directory.string(), process > 0 ? fmt::format(" (process {})", process) : ""));
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : file_(std::move(other.file_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owner_(other.owner_) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(owner_, other.owner_);
  return *this;
}

FolderLock::~FolderLock() {
  if (descriptor_ < 0) return;
  // Removed while it is held: whoever waits for it sees that the name has gone and makes a new file.
  if (owner_ == ::getpid()) ::unlink(file_.c_str());
  ::close(descriptor_);
}

std::optional<pid_t> FolderLock::holder(const fs::path& directory) {
  const int descriptor = ::open((directory / file_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return std::nullopt;
  std::optional<pid_t> process;
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) process = process_in(descriptor);
  ::close(descriptor);
  return process;
}

}  // namespace onward
