#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/stopped.hpp"

namespace onward::detail {
namespace {

constexpr std::size_t most_line = std::size_t{1} << 30, kept_errors = 400;

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

/// The last line that says something.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.remove_suffix(1);
  const auto begin = text.rfind('\n');
  if (begin != std::string_view::npos) text.remove_prefix(begin + 1);
  return printable(text.substr(0, 200));
}

}  // namespace

Process::Process(const std::vector<std::string>& words) {
  Pipe in, out, err;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in.read.number(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, out.write.number(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err.write.number(), STDERR_FILENO);
  // A group of its own: Ctrl-C is for this program, which ends those that it has started.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::sigaddset(&usual, number);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                             POSIX_SPAWN_SETSIGDEF));
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (auto& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int problem = ::posix_spawnp(&pid_, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (problem != 0) {
    pid_ = -1;
    throw Error(fmt::format("the program {} cannot be started: {}", printable(words.front()),
                            std::strerror(problem)));
  }
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  for (const Descriptor* one : {&in_, &out_, &err_}) never_block(one->number());
}

Process::~Process() {
  if (pid_ < 0) return;
  in_.close();  // a program that reads line by line ends by itself
  constexpr double patience = 0.2;
  if (!ended(patience)) ::kill(-pid_, SIGKILL);
  if (!ended_) ::waitpid(pid_, nullptr, 0);
  ::kill(-pid_, SIGKILL);  // what it has started and left behind; of its group alone
}

bool Process::ended(double seconds) {
  const auto begin = Clock::now();
  while (!ended_) {
    const pid_t who = ::waitpid(pid_, &status_, WNOHANG);
    ended_ = who == pid_ || (who < 0 && errno != EINTR);
    if (ended_ || seconds_since(begin) >= seconds) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ended_;
}

void Process::hear_errors() {
  std::array<char, 4096> part;
  for (ssize_t came; (came = ::read(err_.number(), part.data(), part.size())) > 0;) {
    errors_.append(part.data(), static_cast<std::size_t>(came));
    if (errors_.size() > 2 * kept_errors) errors_.erase(0, errors_.size() - kept_errors);
  }
}

std::string Process::ask(const std::string& line, const Wait& wait) {
  using Kind = WireProblem::Kind;
  write_all(in_.number(), line + "\n", wait);
  std::size_t looked = 0;
  for (;;) {
    if (const auto end = buffer_.find('\n', looked); end != std::string::npos) {
      std::string answer = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return answer;
    }
    looked = buffer_.size();
    if (looked > most_line) throw WireProblem(Kind::garbage, "its answer has no end");
    // Both are read, or a program that says much to stderr would wait for ever.
    throw_if_stopped(wait.stop);
    const double left = wait.seconds - seconds_since(wait.begin);
    if (left <= 0) throw WireProblem(Kind::timed_out, fmt::format("no answer within {:g} s", wait.seconds));
    pollfd both[2] = {{out_.number(), POLLIN, 0}, {err_.number(), POLLIN, 0}};
    if (both[1].fd < 0) both[1].events = 0;
    constexpr int slice = 50;  // milliseconds after which the stop is looked at
    if (::poll(both, err_.is_open() ? 2 : 1, std::min(slice, 1 + static_cast<int>(1000 * left))) <= 0)
      continue;
    if (err_.is_open() && both[1].revents != 0) {
      hear_errors();
      if ((both[1].revents & POLLIN) == 0) err_.close();  // it says no more there
    }
    if (both[0].revents != 0 && read_some(out_.number(), buffer_, wait) == 0) {
      if (!buffer_.empty()) return std::exchange(buffer_, {});  // a last line without an end
      throw WireProblem(Kind::lost, how_it_ended());
    }
  }
}

bool Process::ended_well() { return ended(1) && WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

std::string Process::how_it_ended() {
  const bool gone = ended(1);
  if (err_.is_open()) hear_errors();
  const std::string said = last_line(errors_);
  const std::string how = !gone ? "it closed its output"
                          : WIFSIGNALED(status_)
                              ? fmt::format("it was ended by signal {}", WTERMSIG(status_))
                              : fmt::format("it exited with code {}", WEXITSTATUS(status_));
  return said.empty() ? how : fmt::format("{}: {}", how, said);
}

}  // namespace onward::detail
