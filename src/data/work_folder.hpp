#pragma once
// Where a data set is prepared: a folder inside the one that it is for, so that a finished file is moved, not
// copied; and a lock, so that two who fetch the same do not do the work twice.

#include <filesystem>
#include <string_view>

namespace onward::detail {

/// The names of work folders begin so.
inline constexpr std::string_view work_prefix = ".get-";

/// Held while a folder is being filled; given up by the system if the process is killed.
class FillingLock {
 public:
  explicit FillingLock(const std::filesystem::path& folder);
  ~FillingLock();
  FillingLock(const FillingLock&) = delete;
  FillingLock& operator=(const FillingLock&) = delete;

  /// False if another process has it now.
  bool try_lock();
  /// Some file systems have no locks: then everyone goes on without.
  bool held() const { return held_; }

 private:
  int folder_ = -1;
  bool held_ = false;
};

/// A new folder in `parent`, removed with all that is in it at the end.
class WorkFolder {
 public:
  explicit WorkFolder(const std::filesystem::path& parent);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Removes what killed processes have left. Only for the holder of the lock.
  static void remove_abandoned(const std::filesystem::path& parent);

 private:
  std::filesystem::path path_;
};

}  // namespace onward::detail
