#include "stop.hpp"

#include <csignal>
#include <cstdint>
#include <ctime>

namespace onward::app {
namespace {

std::atomic<bool> told{false};
std::atomic<std::int64_t> told_at{0};
static_assert(std::atomic<bool>::is_always_lock_free);  // or a signal handler must not touch it
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// A shell or `timeout` may send one signal twice, to the process and to its group: only one that comes after
/// so many nanoseconds is a second wish.
constexpr std::int64_t one_wish = 300'000'000;

extern "C" void hear_signal(int signal_number) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t at = std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
  if (!told.exchange(true)) {
    told_at = at;
  } else if (at - told_at > one_wish) {
    std::signal(signal_number, SIG_DFL);
    static_cast<void>(std::raise(signal_number));
  }
}

/// What is ignored stays so.
void hear_signals_by(void (*handler)(int)) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal_number, handler) == SIG_IGN) std::signal(signal_number, SIG_IGN);
}

}  // namespace

const std::atomic<bool>& stop_when_told() {
  hear_signals_by(hear_signal);
  return told;
}

void end_when_told() { hear_signals_by(SIG_DFL); }

}  // namespace onward::app
