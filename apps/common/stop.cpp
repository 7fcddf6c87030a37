#include "stop.hpp"

#include <csignal>

namespace onward::app {
namespace {

std::atomic<bool> told{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // or a signal handler must not touch it

extern "C" void hear_signal(int signal_number) {
  told = true;
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_when_told() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal_number, hear_signal) == SIG_IGN) std::signal(signal_number, SIG_IGN);
  return told;
}

}  // namespace onward::app
