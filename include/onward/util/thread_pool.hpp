#pragma once
// A few threads that share the items of one loop. Which thread takes which item is left to chance, so what an
// item computes must depend on its number alone; sums over items are then added in an order of their own
// (tree_sum).

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace onward {

/// Runs loops on a fixed number of threads, the caller's being one of them.
class ThreadPool {
 public:
  /// With 1 thread nothing is started and loops run in place.
  explicit ThreadPool(std::size_t threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  std::size_t threads() const { return workers_.size() + 1; }

  /// Calls item(i) for each i < count and waits for all. The first exception is thrown again here. Not to be
  /// called from inside an item.
  template <class Item>
  void for_each(std::size_t count, const Item& item) {
    if (workers_.empty() || count < 2) {
      for (std::size_t i = 0; i < count; ++i) item(i);
      return;
    }
    share(count, std::cref(item));
  }

 private:
  void share(std::size_t count, std::function<void(std::size_t)> item);
  void work();
  void take_items();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::function<void(std::size_t)> item_;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> round_{0};  // which loop this is; workers wait for it to change
  std::atomic<std::size_t> busy_{0};   // workers that have not finished the round
  std::atomic<bool> quit_{false};
  std::exception_ptr error_;
};

/// Cores of the machine, at least 1.
std::size_t core_count();
/// As many threads as were asked for; 0 asks for one on every core.
inline std::size_t threads_or_all(std::size_t asked) { return asked > 0 ? asked : core_count(); }

/// The sum of the items by halves: the order depends on how many there are, not on who computed them.
template <class T>
T tree_sum(std::span<const T> items) {
  if (items.empty()) return T{};
  if (items.size() == 1) return items[0];
  // The left half is the largest power of two below the size, so that nodes of the tree are whole blocks.
  std::size_t half = 1;
  while (2 * half < items.size()) half *= 2;
  T sum = tree_sum(items.first(half));
  sum += tree_sum(items.subspan(half));
  return sum;
}

}  // namespace onward
