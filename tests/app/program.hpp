#pragma once
// Runs the program as a user does, in a folder of the test's own, and keeps what it said.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "io/scratch.hpp"

namespace onward::testing {

using Words = std::vector<std::string>;

inline Words split(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

struct Outcome {
  int code = -1;  ///< exit code; minus the signal if one killed it
  std::string out, err;
};

/// A program that was started and may still be running.
class Started {
 public:
  struct Options {
    std::filesystem::path folder;
    rlim_t file_size_limit = RLIM_INFINITY;
    int terminal = -1;  ///< stderr goes there instead
    int closed = -1;    ///< this descriptor is closed when the program starts
  };

  Started(const Words& words, const Options& options) : out_(std::tmpfile()), err_(std::tmpfile()) {
    std::vector<std::string> copy{ONWARD_PROGRAM};
    copy.insert(copy.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (auto& word : copy) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(::fileno(out_), STDOUT_FILENO);
      ::dup2(options.terminal >= 0 ? options.terminal : ::fileno(err_), STDERR_FILENO);
      if (std::freopen("/dev/null", "r", stdin) == nullptr || ::chdir(options.folder.c_str()) != 0)
        ::_exit(99);
      const rlimit limit{options.file_size_limit, options.file_size_limit};
      if (options.file_size_limit != RLIM_INFINITY) ::setrlimit(RLIMIT_FSIZE, &limit);
      if (options.closed >= 0) ::close(options.closed);
      std::signal(SIGINT, SIG_DFL);
      ::alarm(120);  // a program that hangs is killed
      ::execv(ONWARD_PROGRAM, argv.data());
      ::_exit(99);
    }
  }
  ~Started() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    std::fclose(out_);
    std::fclose(err_);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  void send(int signal) const { ::kill(pid_, signal); }

  /// What it has printed up to now.
  std::string out_so_far() const {
    std::string all(1 << 16, ' ');
    const auto size = ::pread(::fileno(out_), all.data(), all.size(), 0);
    all.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return all;
  }

  Outcome wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text(out_), text(err_)};
  }

 private:
  static std::string text(std::FILE* file) {
    std::rewind(file);
    std::string all;
    for (int c; (c = std::fgetc(file)) != EOF;) all += static_cast<char>(c);
    return all;
  }
  std::FILE *out_, *err_;
  pid_t pid_ = -1;
};

class Program : public Scratch {
 protected:
  Outcome onward(const Words& words) const { return Started(words, {.folder = path("")}).wait(); }
  Outcome onward(const std::string& line) const { return onward(split(line)); }

  /// Every file under the test's folder with its bytes; folders with "".
  std::map<std::string, std::string> on_disk() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path("")))
      files[entry.path()] = entry.is_regular_file() ? get(entry.path()) : "";
    return files;
  }

  /// The words must be refused with this exit code and a message that has all the pieces; nothing may appear
  /// on stdout, and nothing on disk may change.
  void refuses(int code, const Words& words, const Words& pieces) const {
    SCOPED_TRACE(::testing::PrintToString(words));
    const auto before = on_disk();
    const Outcome outcome = onward(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const auto& piece : pieces) EXPECT_THAT(outcome.err, ::testing::HasSubstr(piece));
    EXPECT_EQ(on_disk(), before);
  }
  void wrong_usage(const std::string& line, const Words& pieces) const { refuses(2, split(line), pieces); }
  void cannot(const std::string& line, const Words& pieces) const { refuses(1, split(line), pieces); }

  nlohmann::json json_file(const std::string& name) const { return nlohmann::json::parse(get(path(name))); }

  /// Waits until it is so, two minutes at most.
  static void wait_until(const std::function<bool()>& it_is_so) {
    for (int i = 0; i < 12000; ++i) {
      if (it_is_so()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "waited in vain";
  }
};

}  // namespace onward::testing
