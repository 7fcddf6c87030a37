#pragma once
// Room for numbers during one evaluation, so that only a thread's first evaluation allocates.

#include <cstddef>
#include <vector>

namespace onward::ad {

/// Each thread keeps one buffer for each scalar type and use, and lends it out. Whoever asks while it is lent
/// gets one of its own.
template <class T, class Use = void>
class Scratch {
 public:
  explicit Scratch(std::size_t size) {
    numbers_.swap(kept());
    if (numbers_.size() < size) numbers_.resize(size);
  }
  ~Scratch() { numbers_.swap(kept()); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return numbers_.data(); }

 private:
  static std::vector<T>& kept() {
    thread_local std::vector<T> numbers;
    return numbers;
  }
  std::vector<T> numbers_;
};

}  // namespace onward::ad
