#include "onward/util/thread_pool.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace onward {
namespace {

/// Loops of a few microseconds follow each other closely: looking a while before sleeping saves the wake-up.
constexpr int looks = 5000;

void pause_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(std::size_t threads) {
  // Where the system gives no more threads, those that are there do the work.
  try {
    for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    ++round_;
  }
  begin_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::take_items() {
  for (std::size_t i = next_++; i < count_; i = next_++) {
    try {
      item_(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = count_;
    }
  }
}

void ThreadPool::share(std::size_t count, std::function<void(std::size_t)> item) {
  {
    const std::lock_guard lock(mutex_);
    item_ = std::move(item);
    count_ = count;
    next_ = 0;
    error_ = nullptr;
    busy_ = workers_.size();
    ++round_;
  }
  begin_.notify_all();
  take_items();
  for (int look = 0; look < looks && busy_ != 0; ++look) pause_a_moment();
  {
    std::unique_lock lock(mutex_);
    end_.wait(lock, [this] { return busy_ == 0; });
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::work() {
  for (std::size_t seen = 0;;) {
    for (int look = 0; look < looks && round_ == seen; ++look) pause_a_moment();
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
    }
    if (quit_) return;
    take_items();
    {
      const std::lock_guard lock(mutex_);
      --busy_;
    }
    end_.notify_one();
  }
}

std::size_t core_count() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace onward
