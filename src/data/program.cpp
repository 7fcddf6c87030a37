#include "program.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// In the child, up to the new program: only calls that are safe in a copy of a process with threads.
[[noreturn]] void become(const char* program, char* const* words, const char* folder, int log, pid_t parent) {
  ::setpgid(0, 0);  // so that it can be stopped together with what it starts
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  if (::getppid() == parent && nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 &&
      ::dup2(log, STDOUT_FILENO) >= 0 && ::dup2(log, STDERR_FILENO) >= 0 && ::chdir(folder) == 0)
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
    const fs::path file = fs::path(folder) / name;
    std::error_code none;
    if (fs::is_regular_file(file, none) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

int run_program(const fs::path& program, const std::vector<std::string>& words, const fs::path& folder,
                const fs::path& log, const std::function<void()>& tick) {
  std::vector<std::string> copies{program.string()};
  copies.insert(copies.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const int log_file = open_for_writing(log, false);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(program.c_str(), arguments.data(), folder.c_str(), log_file, parent);
  const int error = errno;
  ::close(log_file);
  if (child < 0) throw_system_error("start", program, error);
  ::setpgid(child, child);  // here too: whoever comes first
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
