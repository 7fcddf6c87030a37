#include "program.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <thread>

#include "../io/system_file.hpp"

namespace onward::detail {
namespace {

namespace fs = std::filesystem;

/// What a program prints, kept in memory: on a full disk it would be lost when it is needed.
class OutputInMemory {
 public:
  OutputInMemory() : file_(::memfd_create("output", MFD_CLOEXEC)) {
    if (file_ < 0) throw_system_error("make", "a file in memory", errno);
  }
  ~OutputInMemory() { ::close(file_); }
  OutputInMemory(const OutputInMemory&) = delete;
  OutputInMemory& operator=(const OutputInMemory&) = delete;

  int file() const { return file_; }
  std::string text() const {
    const off_t size = ::lseek(file_, 0, SEEK_END);
    std::string bytes(static_cast<std::size_t>(std::max<off_t>(size, 0)), '\0');
    const auto came = ::pread(file_, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(came, 0)));
    return bytes;
  }

 private:
  int file_;
};

/// In the child, up to the new program: only calls that are safe in a copy of a process with threads.
[[noreturn]] void become(const char* program, char* const* words, const char* folder, int output,
                         pid_t parent) {
  ::setpgid(0, 0);  // so that it can be stopped together with what it starts
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  if (::getppid() == parent && nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 &&
      ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0 && ::chdir(folder) == 0)
    ::execv(program, words);
  ::_exit(127);
}

/// Asks a group of processes to end, and insists after a while.
void stop_group(pid_t group) {
  ::kill(-group, SIGTERM);
  for (int i = 0; i < 100 && ::waitpid(group, nullptr, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(-group, SIGKILL);
  ::waitpid(group, nullptr, 0);
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    // An empty or relative entry would name another program in another folder.
    if (!fs::path(folder).is_absolute()) continue;
    fs::path file = fs::path(folder) / name;
    std::error_code none;
    if (fs::is_regular_file(file, none) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

ProgramEnd run_program(const fs::path& program, const std::vector<std::string>& words, const fs::path& folder,
                       const std::function<void()>& tick) {
  std::vector<std::string> copies{program.string()};
  copies.insert(copies.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const OutputInMemory output;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(program.c_str(), arguments.data(), folder.c_str(), output.file(), parent);
  if (child < 0) throw_system_error("start", program, errno);
  ::setpgid(child, child);  // here too: whoever comes first
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child)
      return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output.text()};
    if (ended < 0 && errno != EINTR) throw_system_error("wait for", program, errno);
    try {
      tick();
    } catch (...) {
      stop_group(child);
      throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace onward::detail
