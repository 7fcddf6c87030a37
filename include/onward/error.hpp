#pragma once
// The one exception type that Onward throws for what a user can mend: it names the thing, the value and the
// remedy.

#include <stdexcept>
#include <string>

namespace onward {

/// Something could not be done: bad data, a file that cannot be written, a start point without density.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The request itself is wrong (a setting out of range, an unknown name); the program exits with 2 for it.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// No chain can begin where it was told to.
class StartError : public Error {
 public:
  using Error::Error;
};

}  // namespace onward
