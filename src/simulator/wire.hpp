#pragma once
// Reading and writing with an end: every wait for another process stops when its time is over, and within a
// twentieth of a second when the run is told to stop.

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "onward/util/clock.hpp"

namespace onward::detail {

/// An open file, pipe or socket.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

/// How long something may take, and what ends it before that.
struct Wait {
  double seconds = 60;
  Clock::time_point begin = Clock::now();
  const std::atomic<bool>* stop = nullptr;
};

/// Why another process gave no answer.
struct WireProblem : std::runtime_error {
  enum class Kind {
    refused,    ///< nobody is there
    lost,       ///< it went away before it had answered
    timed_out,  ///< it is there and says nothing
    garbage     ///< what it says is no answer
  };
  Kind kind;
  WireProblem(Kind what, const std::string& words) : std::runtime_error(words), kind(what) {}
};

/// Until `events` (POLLIN, POLLOUT) are there. Throws Stopped, and WireProblem when time is over.
void wait_for(int descriptor, short events, const Wait& wait);

/// Waits a little before something is tried again. Throws Stopped.
void pause_for(double seconds, const std::atomic<bool>* stop);

/// Writes all of it to a socket or a pipe that does not block. Throws WireProblem if nobody reads it.
void write_all(int descriptor, std::string_view text, const Wait& wait);

/// Appends what comes next, at least a byte; gives how many, 0 at the end.
std::size_t read_some(int descriptor, std::string& to, const Wait& wait);

/// Reads and writes that would wait return at once from here on.
void never_block(int descriptor);

}  // namespace onward::detail
