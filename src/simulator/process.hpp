#pragma once
// Another program that is written to and read from line by line.

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire.hpp"

namespace onward::detail {

class Process {
 public:
  /// Throws Error if it cannot be started.
  explicit Process(const std::vector<std::string>& words);
  /// Ends it, and what it has started.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Writes the line and reads the next one. Throws WireProblem (`lost` if the program has ended) and
  /// Stopped.
  std::string ask(const std::string& line, const Wait& wait);

  /// Of one that ended before it answered: whether it did so with code 0.
  bool ended_well();
  /// How it ended, and the last that it wrote to stderr: "it exited with code 1: no such file".
  std::string how_it_ended();

 private:
  void hear_errors();
  /// Whether it has ended; waits for that so many seconds.
  bool ended(double seconds);

  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  Descriptor in_, out_, err_;
  std::string buffer_, errors_;
};

}  // namespace onward::detail
