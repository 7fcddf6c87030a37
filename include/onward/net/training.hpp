#pragma once
// What pretraining by stochastic gradients asks of a network: the mean loss of a batch and its gradient,
// batch norms working with the statistics of the batch and moving their running ones.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "onward/net/data.hpp"
#include "onward/net/description.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward::net {

class Training {
 public:
  /// The batch is shared by the pool's threads; bits do not depend on how many there are.
  explicit Training(std::shared_ptr<const Layout> layout, std::shared_ptr<ThreadPool> pool = nullptr);
  Training(Training&&) noexcept;
  Training& operator=(Training&&) noexcept;
  ~Training();

  /// The mean over the batch of -log softmax at the label (or, for numbers, of half the squared distance);
  /// its gradient goes to `out`. Inputs are rows of channel after channel, augmented and normalised by the
  /// caller. Running statistics move by `momentum` (0.1 is PyTorch's) towards the batch's; variances are the
  /// unbiased ones there.
  double gradient(std::span<const float> theta, std::span<const float> inputs,
                  std::span<const std::uint8_t> labels, std::span<float> statistics, double momentum,
                  std::span<float> out);
  double gradient(std::span<const float> theta, std::span<const float> inputs, std::span<const float> answers,
                  std::span<float> statistics, double momentum, std::span<float> out);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace onward::net
