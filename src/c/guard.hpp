#pragma once
// Exceptions end at the C interface: each becomes a return code and a message.

#include <memory>
#include <string>

#include "onward.h"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/target/density.hpp"

namespace onward::c_interface {

/// Of this thread.
std::string& last_message();
int& last_code();

/// Notes what was thrown, to be called where it is caught; gives the code for it.
int told();

template <class Call>
int guarded(const Call& call) {
  const CallersThread here;
  try {
    call();
    return ONWARD_OK;
  } catch (...) {
    return told();
  }
}

/// A pointer that must not be null. Throws UsageError.
template <class T>
T* required(T* pointer, const char* what) {
  if (pointer == nullptr) throw UsageError(std::string("`") + what + "` is a null pointer");
  return pointer;
}

/// What the call makes, for the caller to free; null if it throws.
template <class Make>
auto made(const Make& make) {
  decltype(make()) handle;
  guarded([&] { handle = make(); });
  return handle.release();
}

/// The text that the call gives, kept in `place`; null if it throws.
template <class Call>
const char* text(std::string& place, const Call& call) {
  return guarded([&] { place = call(); }) == ONWARD_OK ? place.c_str() : nullptr;
}

inline nlohmann::ordered_json parsed(const char* text, const char* what) {
  if (text == nullptr || *text == '\0') return nlohmann::ordered_json::object();
  return parse_json(text, what);
}

}  // namespace onward::c_interface
