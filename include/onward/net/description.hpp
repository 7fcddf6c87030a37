#pragma once
// A network as a list of layers, in the words of torch.nn.Sequential, and what follows from it: the shape of
// every activation and where each parameter tensor lies in theta. Layers count from 0, so that a parameter is
// called as PyTorch calls it: "3.weight" belongs to layer 3.

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "onward/target/parameter_block.hpp"

namespace onward::net {

/// One row of activations: channels of height x width. Vectors are 1 x 1 with as many channels as entries.
struct Shape {
  std::size_t channels = 1, height = 1, width = 1;
  std::size_t size() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};
/// "3x32x32", or "10" for a vector.
std::string to_string(const Shape& shape);

/// Wants a vector (flatten images first).
struct Linear {
  std::size_t outputs;
  bool bias = true;
};
/// As PyTorch's: a cross-correlation, zeros around the image.
struct Conv2d {
  std::size_t channels;
  std::size_t kernel_height = 3, kernel_width = 3;
  std::size_t stride = 1, padding = 0;
  bool bias = true;
};
enum class ActivationKind { relu, tanh, gelu, softplus };
/// gelu is the exact one, x Phi(x).
struct Activation {
  ActivationKind kind = ActivationKind::relu;
};
enum class PoolKind { max, average };
/// Windows of size x size, without padding; rows and columns that fill no window are left out.
struct Pool {
  PoolKind kind = PoolKind::max;
  std::size_t size = 2, stride = 2;
};
/// An image becomes a vector: channel after channel, row after row.
struct Flatten {};
/// Each channel is shifted and scaled: by running statistics, which stay as they are while a posterior is
/// sampled, and by two parameters. Statistics of the batch are used in training alone (Training).
struct BatchNorm {
  double epsilon = 1e-5;
};
/// Adds what went into the last `layers` layers to what came out of them.
struct Residual {
  std::size_t layers;
};

using Layer = std::variant<Linear, Conv2d, Activation, Pool, Flatten, BatchNorm, Residual>;
/// "linear", "conv2d", "relu", "tanh", "gelu", "softplus", "max-pool", "average-pool", "flatten",
/// "batch-norm", "residual": in messages and in files.
std::string kind_of(const Layer& layer);

struct Description {
  Shape input;
  std::vector<Layer> layers;
};

/// A tensor of parameters (then `offset` is its place in theta) or of running statistics (its place among
/// those). Row-major, in PyTorch's order: [outputs, inputs] or [outputs, inputs, height, width].
struct Tensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t offset;
  std::size_t size;
};

/// A description whose shapes were found to fit.
class Layout {
 public:
  struct Step {
    Layer layer;
    Shape in, out;
    std::size_t begin, end;  ///< the layer's parameters in theta: weight, then bias; none if equal
    std::size_t statistics;  ///< a batch norm's first running statistic: means, then variances
    bool has_bias() const;
    /// Multiplications and additions for one row, of linear layers and convolutions.
    double flops() const;
  };

  /// Throws UsageError that names the first layer that does not fit, what it was given and what it needs.
  explicit Layout(Description description);

  const Description& description() const { return description_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  const std::vector<Tensor>& statistics() const { return statistics_; }
  std::size_t parameter_count() const;
  /// A layer with parameters each, by its number: "0", "2", ...
  std::vector<ParameterBlock> blocks() const;
  std::size_t statistic_count() const;
  const Shape& input() const { return description_.input; }
  const Shape& output() const { return steps_.empty() ? description_.input : steps_.back().out; }
  /// Those of all layers.
  double flops_per_row() const;

 private:
  Description description_;
  std::vector<Step> steps_;
  std::vector<Tensor> parameters_, statistics_;
};

/// A layout and the running statistics of its batch norms.
struct Network {
  Layout layout;
  std::vector<float> statistics;  ///< layout.statistic_count() of them

  /// Running statistics as they start: means 0, variances 1.
  explicit Network(Layout layout);
  /// Throws UsageError if there are too few statistics or too many, or a variance is negative.
  Network(Layout layout, std::vector<float> statistics);
};

/// The convolutional network of the paper for 3x32x32 images, 10 classes: 2,395,434 parameters; with batch
/// norm after each convolution 2,396,330. `width` is that of the first layer; all others follow it.
Description paper_cnn(bool batch_norm = false, std::size_t width = 32);
/// inputs-hidden-...-hidden-outputs with that activation between.
Description mlp(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                ActivationKind activation = ActivationKind::relu);

}  // namespace onward::net
