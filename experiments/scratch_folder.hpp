#pragma once
// A folder of its own for files that nobody needs afterwards.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward::experiments {

/// Made in the folder for temporary files, and removed at the end.
class ScratchFolder {
 public:
  /// Its name cannot be foreseen, so that nobody can have put a link in its place.
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "onward-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw Error(fmt::format("cannot make a folder in {}: {}",
                              std::filesystem::temp_directory_path().string(), std::strerror(errno)));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace onward::experiments
