#pragma once
// Pretraining of a network on images: stochastic gradients with Nesterov's momentum, images shifted and
// mirrored at random. Everything random is a function of the seed, the epoch and the image's number, so the
// same seed gives the same bits on any number of threads, also when a training was cut short and goes on.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onward/io/labelled_images.hpp"
#include "onward/net/data.hpp"
#include "onward/net/training.hpp"

namespace onward::net {

struct SgdSettings {
  std::size_t epochs = 15, batch = 128;  ///< images that fill no batch wait for another epoch's order
  double rate = 0.05;                    ///< the highest
  double rising =
      0.2;  ///< share of the steps in which the rate grows to it from 0; then it falls as a cosine
  double momentum = 0.9, weight_decay = 1e-4;
  std::size_t shift = 4;  ///< pixels that an image may move up, down, left or right; black comes in
  bool mirror = true;     ///< left and right change places in one image of two
  std::uint64_t seed = 1;
};
/// Throws UsageError with field, value and what is allowed.
void validate(const SgdSettings& settings);

/// The rate of a step of so many.
double learning_rate(const SgdSettings& settings, std::size_t step, std::size_t steps);

/// Row after row of `out`, for the images of those numbers: moved and mirrored as the epoch has it, and
/// normalised.
void augment(const LabelledImages& images, const Normalisation& normalise, const SgdSettings& settings,
             std::size_t epoch, std::span<const std::size_t> numbers, ThreadPool& pool, std::span<float> out);

/// Where a training is, between epochs.
struct SgdState {
  std::vector<float> parameters, velocity, statistics;
  std::vector<double> losses;  ///< the mean of each epoch that is done

  std::size_t epochs() const { return losses.size(); }
};

class Sgd {
 public:
  /// Starts at lecun_start of the seed. Throws UsageError for images of another size than the network takes,
  /// or fewer than a batch.
  Sgd(std::shared_ptr<const Layout> layout, std::shared_ptr<const LabelledImages> images,
      Normalisation normalise, const SgdSettings& settings, std::shared_ptr<ThreadPool> pool = nullptr);

  const SgdState& state() const { return state_; }
  /// Goes on from there. Throws UsageError if its sizes are another network's.
  void set_state(SgdState state);

  /// The next epoch; tells the share of it that is done. Throws Error if the loss is not finite.
  void epoch(const std::function<void(double share)>& progress = {});

 private:
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const LabelledImages> images_;
  Normalisation normalise_;
  SgdSettings settings_;
  std::shared_ptr<ThreadPool> pool_;
  Training training_;
  SgdState state_;
};

/// A state in a file, with a note of the caller's, such as what it depends on.
struct StoredState {
  SgdState state;
  std::string note;
};
void write_state(const std::filesystem::path& file, const StoredState& stored);
/// Throws Error if the file is there and is no state; nothing if it is not there.
std::optional<StoredState> read_state(const std::filesystem::path& file);

}  // namespace onward::net
