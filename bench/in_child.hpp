#pragma once
// A measurement in a process of its own, so that the peak memory is its own.

#include <type_traits>

#include <sys/wait.h>
#include <unistd.h>

#include "onward/error.hpp"

namespace onward::bench {

/// Calls measure() in a child process and gives what it returned, plain numbers.
template <class Result, class Measure>
Result in_child(const Measure& measure) {
  static_assert(std::is_trivially_copyable_v<Result>);
  int ends[2];
  if (::pipe(ends) != 0) throw Error("cannot make a pipe to a child process");
  const pid_t child = ::fork();
  if (child == 0) {
    const Result result = measure();
    const bool told = ::write(ends[1], &result, sizeof result) == sizeof result;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Result result{};
  const bool heard = ::read(ends[0], &result, sizeof result) == sizeof result;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (!heard) throw Error("a process that measured something ended without a result");
  return result;
}

}  // namespace onward::bench
