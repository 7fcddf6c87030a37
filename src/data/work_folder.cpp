#include "work_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "../io/system_file.hpp"

namespace onward::detail {

namespace fs = std::filesystem;

FillingLock::FillingLock(const fs::path& folder)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) throw_system_error("open the folder", folder, errno);
}

FillingLock::~FillingLock() { ::close(folder_); }

bool FillingLock::try_lock() {
  held_ = ::flock(folder_, LOCK_EX | LOCK_NB) == 0;
  return held_ || errno != EWOULDBLOCK;
}

WorkFolder::WorkFolder(const fs::path& parent) {
  std::string name = (parent / work_prefix).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw_system_error("write to the folder", parent, errno);
  path_ = name;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void WorkFolder::remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (fs::directory_iterator at(parent, ignored); !ignored && at != fs::directory_iterator();
       at.increment(ignored))
    if (at->path().filename().string().starts_with(work_prefix)) abandoned.push_back(at->path());
  for (const auto& folder : abandoned) fs::remove_all(folder, ignored);
}

}  // namespace onward::detail
