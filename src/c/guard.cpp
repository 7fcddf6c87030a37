#include "guard.hpp"

#include <new>
#include <stdexcept>

#include "onward/error.hpp"

namespace onward::c_interface {

std::string& last_message() {
  thread_local std::string message;
  return message;
}

int& last_code() {
  thread_local int code = ONWARD_OK;
  return code;
}

int told() {
  const auto say = [](int code, const char* message) {
    last_message() = message;
    last_code() = code;
    return code;
  };
  try {
    throw;
  } catch (const UsageError& e) {
    return say(ONWARD_USAGE, e.what());
  } catch (const std::bad_alloc&) {
    return say(ONWARD_FAILED, "there is not enough memory");
  } catch (const std::domain_error& e) {
    return say(ONWARD_NO_DENSITY, e.what());
  } catch (const std::exception& e) {
    return say(ONWARD_FAILED, e.what());
  } catch (...) {
    return say(ONWARD_FAILED, "something was thrown that is no std::exception");
  }
}

}  // namespace onward::c_interface
