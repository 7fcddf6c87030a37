#pragma once
// One writer to a folder: a lock that ends with the process that holds it, however that ends.
// It is an flock on a file .lock in the folder, so nothing has to be cleared away after a crash. File systems
// that know no locks are written to without one.

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace onward {

class FolderLock {
 public:
  static constexpr const char* file_name = ".lock";

  /// Takes the lock of an existing folder, or throws an Error that names the folder and the process that
  /// writes there.
  explicit FolderLock(const std::filesystem::path& directory);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  /// Gives the lock back and removes its file.
  ~FolderLock();

  /// Who holds the lock of a folder: nothing if nobody does, 0 if the process is not known.
  static std::optional<pid_t> holder(const std::filesystem::path& directory);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  pid_t owner_ = -1;  // a child that inherited the descriptor must not remove the file
};

}  // namespace onward
