#pragma once
// Lets what items of a loop computed on any thread be used in the order of the items.

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace onward::net {

/// Items must be begun in order, as a ThreadPool begins them.
class InOrder {
 public:
  /// Calls use() when it was called for all items before. Does nothing once an item has failed.
  template <class Use>
  void use(std::size_t item, const Use& use) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return failed_ || next_ == item; });
    if (failed_) return;
    use();
    ++next_;
    turn_.notify_all();
  }
  /// Called when an item will never be ready, lest the others wait for it.
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::size_t next_ = 0;
  bool failed_ = false;
};

}  // namespace onward::net
