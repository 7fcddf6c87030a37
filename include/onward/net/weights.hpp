#pragma once
// Weights in files: tensors by PyTorch's names in .safetensors ("0.weight", "3.running_mean"), as
// safetensors.torch.save_file writes the state_dict of a torch.nn.Sequential, or one flat vector in .npy,
// parameters first, then running statistics.

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "onward/net/description.hpp"

namespace onward::net {

/// What a file of weights gives.
struct StoredWeights {
  std::vector<double> parameters;  ///< in the order of theta
  std::vector<float> statistics;   ///< of batch norms: as Network wants them
};

/// Reads the weights of a network of that layout, .npy by its name and .safetensors by any other. Throws
/// Error that names the tensor, its shape and the expected one if they are another network's, and the tensor
/// and the entry if one is not finite. Counters of batches ("3.num_batches_tracked") are passed over.
StoredWeights read_weights(const std::filesystem::path& file, const Layout& layout);

/// Writes F32 tensors, or for a name that ends in .npy a vector of floats.
void write_weights(const std::filesystem::path& file, const Network& network,
                   std::span<const double> parameters);

/// Where training or sampling may start: parameters normal about `centre` with standard deviations `spread`.
struct StartLaw {
  std::vector<double> centre, spread;
};
/// LeCun's: weights have variance 1/inputs, biases are 0, batch norms 1 and 0.
StartLaw lecun_law(const Layout& layout);
/// A draw from it: a function of the seed and the chain, the one with which a chain of a run begins.
std::vector<double> lecun_start(const Layout& layout, std::uint64_t seed, std::uint32_t chain = 0);

}  // namespace onward::net
