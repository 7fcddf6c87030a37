#include "wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "onward/util/stopped.hpp"

namespace onward::detail {
namespace {

constexpr double slice = 0.05;  // seconds after which the stop is looked at

/// While there is one, a pipe that nobody reads is an error and no signal that ends the process.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    ours_ = ::sigismember(&pending, SIGPIPE) == 0;
    if (ours_) ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    if (!ours_) return;
    const timespec now{};
    ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool ours_ = false;
};

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

void wait_for(int descriptor, short events, const Wait& wait) {
  for (;;) {
    throw_if_stopped(wait.stop);
    const double left = wait.seconds - seconds_since(wait.begin);
    if (left <= 0)
      throw WireProblem(WireProblem::Kind::timed_out, fmt::format("no answer within {:g} s", wait.seconds));
    pollfd one{descriptor, events, 0};
    const int now = ::poll(&one, 1, std::max(1, static_cast<int>(1000 * std::min(left, slice))));
    if (now > 0) return;  // also for errors: reading and writing tell which
  }
}

void pause_for(double seconds, const std::atomic<bool>* stop) {
  const auto begin = Clock::now();
  for (double left = seconds; left > 0; left = seconds - seconds_since(begin)) {
    throw_if_stopped(stop);
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, slice)));
  }
}

void write_all(int descriptor, std::string_view text, const Wait& wait) {
  const NoPipeSignal guard;
  while (!text.empty()) {
    const ssize_t went = ::write(descriptor, text.data(), text.size());
    if (went > 0) {
      text.remove_prefix(static_cast<std::size_t>(went));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_for(descriptor, POLLOUT, wait);
    } else if (errno != EINTR) {
      throw WireProblem(WireProblem::Kind::lost, std::strerror(errno));
    }
  }
}

std::size_t read_some(int descriptor, std::string& to, const Wait& wait) {
  std::array<char, 1 << 16> part;
  for (;;) {
    const ssize_t came = ::read(descriptor, part.data(), part.size());
    if (came >= 0) {
      to.append(part.data(), static_cast<std::size_t>(came));
      return static_cast<std::size_t>(came);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait_for(descriptor, POLLIN, wait);
    else if (errno != EINTR)
      throw WireProblem(WireProblem::Kind::lost, std::strerror(errno));
  }
}

void never_block(int descriptor) { ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

}  // namespace onward::detail
