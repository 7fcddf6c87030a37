#pragma once
// Where the samplers of the paper's convolutional network start: weights that stochastic gradients found, in
// the usual way. The last training images are held out: step sizes are judged by them later.

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/net/sgd.hpp"
#include "rows.hpp"

namespace onward::experiments {

struct PretrainingSettings {
  net::SgdSettings sgd;
  std::size_t width = 32;  ///< of the network's first layer
  /// The first so many; 0: all that are not held out. With half of them and augmentation the start is about
  /// as sure of itself as the published one.
  std::size_t images = 24'000;
  std::size_t held_out = 6000;  ///< the last so many
  std::string data;             ///< folder with files of CIFAR-10's names; empty: CIFAR-10
  std::size_t threads = 0;      ///< 0: all cores
  std::string folder;           ///< for start.safetensors, and the state after each epoch
};

/// How an epoch went.
struct Epoch {
  std::size_t number;    ///< from 1
  double loss;           ///< mean over the epoch's batches
  double accuracy, nll;  ///< of the images that are held out
  double seconds;
};

using Pretraining = std::vector<Epoch>;

/// After each epoch; a training that goes on tells the last that was done too.
using EpochListener = std::function<void(const Epoch& epoch)>;

/// Throws UsageError or Error if settings make no sense or images are missing.
void check_pretraining(const PretrainingSettings& settings);

std::filesystem::path start_file(const std::string& folder);

/// Trains in a child process and leaves start.safetensors, or finds it there if it was made with the same
/// settings; goes on from the last epoch of a training that was cut short. Nothing if it was stopped. Must be
/// called while the process has one thread: it forks. `listener` is called in the child.
std::optional<Pretraining> pretrain(const PretrainingSettings& settings, const EpochListener& listener,
                                    const Share& progress, const std::atomic<bool>& stop);

nlohmann::ordered_json to_json(const Pretraining& pretraining);
Pretraining pretraining_from_json(const nlohmann::ordered_json& json);

}  // namespace onward::experiments
