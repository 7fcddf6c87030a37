#pragma once
// What an evaluation that waits for another process needs to know of the run that it is for: what ends the
// waiting, and where to say that something is amiss. The thread knows it, so that models need not be told.

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace onward {

/// Sentences for the user, said by any thread and taken by the one that shows them.
class News {
 public:
  void say(std::string sentence) {
    const std::lock_guard lock(mutex_);
    // A server that comes and goes must not fill a screen or the memory.
    if (++said_ <= most) sentences_.push_back(std::move(sentence));
    if (said_ == most) sentences_.push_back("no more is said of this");
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sentences_, {});
  }

 private:
  static constexpr std::size_t most = 50;
  std::mutex mutex_;
  std::vector<std::string> sentences_;
  std::size_t said_ = 0;
};

/// While there is one, evaluations in this thread that wait throw Stopped (util/stopped.hpp) when the flag
/// becomes true, and say what is amiss to `news`. Either may be null; both outlive it. The innermost one
/// counts.
class Waiting {
 public:
  explicit Waiting(const std::atomic<bool>* stop, News* news = nullptr)
      : stop_(stop), news_(news), before_(std::exchange(innermost(), this)) {}
  ~Waiting() { innermost() = before_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// What ends the waiting of this thread, or null.
  static const std::atomic<bool>* stop() { return innermost() == nullptr ? nullptr : innermost()->stop_; }
  static News* news() { return innermost() == nullptr ? nullptr : innermost()->news_; }
  static void say(std::string sentence) {
    if (news() != nullptr) news()->say(std::move(sentence));
  }

  /// For evaluations: that there is a model in this thread that waits, and may throw Stopped.
  static void announce() {
    for (Waiting* one = innermost(); one != nullptr; one = one->before_) one->announced_ = true;
  }
  bool announced() const { return announced_; }

 private:
  static Waiting*& innermost() {
    thread_local Waiting* now = nullptr;
    return now;
  }
  const std::atomic<bool>* stop_;
  News* news_;
  Waiting* before_;
  bool announced_ = false;
};

}  // namespace onward
