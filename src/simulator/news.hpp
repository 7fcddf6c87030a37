#pragma once
// What happens to connections, for the user: said by any thread, fetched by the one that shows it.

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace onward::detail {

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

}  // namespace onward::detail
