#include "onward/net/description.hpp"

#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "overloaded.hpp"

namespace onward::net {
namespace {

/// Finds shapes layer by layer and lays out the parameters as it goes.
class Builder {
 public:
  Builder(const Description& description, std::vector<Layout::Step>& steps, std::vector<Tensor>& parameters,
          std::vector<Tensor>& statistics)
      : description_(description), steps_(steps), parameters_(parameters), statistics_(statistics) {}

  void add(const Layer& layer) {
    number_ = steps_.size();
    kind_ = kind_of(layer);
    in_ = steps_.empty() ? description_.input : steps_.back().out;
    const std::size_t begin = end_of(parameters_), statistics_begin = end_of(statistics_);
    const Shape out = std::visit([this](const auto& kind) { return shape_after(kind); }, layer);
    steps_.push_back({layer, in_, out, begin, end_of(parameters_), statistics_begin});
  }

 private:
  Shape shape_after(const Linear& layer) {
    need(layer.outputs > 0, "outputs above 0");
    need(in_.height == 1 && in_.width == 1, "a vector: put a flatten before it");
    parameter("weight", {layer.outputs, in_.channels});
    if (layer.bias) parameter("bias", {layer.outputs});
    return {layer.outputs, 1, 1};
  }
  Shape shape_after(const Conv2d& layer) {
    need(layer.channels > 0, "channels above 0");
    need(layer.kernel_height > 0 && layer.kernel_width > 0 && layer.stride > 0,
         "a kernel and a stride above 0");
    need(layer.padding < layer.kernel_height && layer.padding < layer.kernel_width,
         fmt::format("a padding (it has {}) smaller than its kernel of {}x{}", layer.padding,
                     layer.kernel_height, layer.kernel_width));
    const std::size_t height = in_.height + 2 * layer.padding, width = in_.width + 2 * layer.padding;
    need(height >= layer.kernel_height && width >= layer.kernel_width,
         fmt::format("an image of {}x{} or more with its padding of {}", layer.kernel_height,
                     layer.kernel_width, layer.padding));
    parameter("weight", {layer.channels, in_.channels, layer.kernel_height, layer.kernel_width});
    if (layer.bias) parameter("bias", {layer.channels});
    return {layer.channels, (height - layer.kernel_height) / layer.stride + 1,
            (width - layer.kernel_width) / layer.stride + 1};
  }
  Shape shape_after(const Activation&) const { return in_; }
  Shape shape_after(const Pool& layer) const {
    need(layer.size > 0 && layer.stride > 0, "a size and a stride above 0");
    need(in_.height >= layer.size && in_.width >= layer.size,
         fmt::format("an image of {0}x{0} or more", layer.size));
    return {in_.channels, (in_.height - layer.size) / layer.stride + 1,
            (in_.width - layer.size) / layer.stride + 1};
  }
  Shape shape_after(const Flatten&) const { return {in_.size(), 1, 1}; }
  Shape shape_after(const BatchNorm& layer) {
    need(layer.epsilon > 0, "an epsilon above 0");
    parameter("weight", {in_.channels});
    parameter("bias", {in_.channels});
    statistic("running_mean", {in_.channels});
    statistic("running_var", {in_.channels});
    return in_;
  }
  Shape shape_after(const Residual& layer) const {
    need(layer.layers > 0 && layer.layers <= number_,
         fmt::format("a number of layers from 1 to the {} before it (it has {})", number_, layer.layers));
    const Shape& from = steps_[number_ - layer.layers].in;
    need(from == in_, fmt::format("the {} that went into layer {}", to_string(from), number_ - layer.layers));
    return in_;
  }

  void need(bool condition, std::string_view what) const {
    if (!condition)
      throw UsageError(
          fmt::format("layer {} ({}) is given {}: it needs {}", number_, kind_, to_string(in_), what));
  }
  void parameter(std::string_view name, std::vector<std::size_t> shape) {
    append(parameters_, name, std::move(shape));
  }
  void statistic(std::string_view name, std::vector<std::size_t> shape) {
    append(statistics_, name, std::move(shape));
  }
  void append(std::vector<Tensor>& tensors, std::string_view name, std::vector<std::size_t> shape) const {
    // Sizes come from files: what no machine holds must not wrap around either.
    const double entries = std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<double>());
    need(entries < 1e12, fmt::format("a {} of fewer than {:.0e} entries", name, 1e12));
    const std::size_t size =
        std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<std::size_t>());
    tensors.push_back({fmt::format("{}.{}", number_, name), std::move(shape), end_of(tensors), size});
  }
  static std::size_t end_of(const std::vector<Tensor>& tensors) {
    return tensors.empty() ? 0 : tensors.back().offset + tensors.back().size;
  }

  const Description& description_;
  std::vector<Layout::Step>& steps_;
  std::vector<Tensor>& parameters_;
  std::vector<Tensor>& statistics_;
  std::size_t number_ = 0;
  std::string kind_;
  Shape in_;
};

std::size_t size_of(const std::vector<Tensor>& tensors) {
  return tensors.empty() ? 0 : tensors.back().offset + tensors.back().size;
}

}  // namespace

std::string to_string(const Shape& shape) {
  if (shape.height == 1 && shape.width == 1) return fmt::format("{}", shape.channels);
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

std::string kind_of(const Layer& layer) {
  return std::visit(Overloaded{
                        [](const Linear&) -> std::string { return "linear"; },
                        [](const Conv2d&) -> std::string { return "conv2d"; },
                        [](const Activation& activation) -> std::string {
                          switch (activation.kind) {
                            case ActivationKind::relu:
                              return "relu";
                            case ActivationKind::tanh:
                              return "tanh";
                            case ActivationKind::gelu:
                              return "gelu";
                            case ActivationKind::softplus:
                              return "softplus";
                          }
                          return "";
                        },
                        [](const Pool& pool) -> std::string {
                          return pool.kind == PoolKind::max ? "max-pool" : "average-pool";
                        },
                        [](const Flatten&) -> std::string { return "flatten"; },
                        [](const BatchNorm&) -> std::string { return "batch-norm"; },
                        [](const Residual&) -> std::string { return "residual"; },
                    },
                    layer);
}

bool Layout::Step::has_bias() const {
  if (const auto* linear = std::get_if<Linear>(&layer)) return linear->bias;
  if (const auto* conv = std::get_if<Conv2d>(&layer)) return conv->bias;
  return std::holds_alternative<BatchNorm>(layer);
}

std::vector<ParameterBlock> Layout::blocks() const {
  std::vector<ParameterBlock> blocks;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.end > step.begin)
      blocks.push_back({std::to_string(i), step.end - step.begin, step.out.channels, step.has_bias()});
  }
  return blocks;
}

Layout::Layout(Description description) : description_(std::move(description)) {
  if (description_.input.size() == 0)
    throw UsageError(fmt::format("the network's input is {}: channels, height and width must be above 0",
                                 to_string(description_.input)));
  if (description_.layers.empty()) throw UsageError("the network has no layers: it needs at least one");
  Builder builder(description_, steps_, parameters_, statistics_);
  for (const Layer& layer : description_.layers) builder.add(layer);
}

std::size_t Layout::parameter_count() const { return size_of(parameters_); }
std::size_t Layout::statistic_count() const { return size_of(statistics_); }

double Layout::Step::flops() const {
  if (std::holds_alternative<Linear>(layer)) return 2.0 * static_cast<double>(in.channels * out.channels);
  if (const auto* conv = std::get_if<Conv2d>(&layer))
    return 2.0 * static_cast<double>(conv->kernel_height * conv->kernel_width * in.channels * out.size());
  return 0;
}

double Layout::flops_per_row() const {
  double sum = 0;
  for (const Step& step : steps_) sum += step.flops();
  return sum;
}

Network::Network(Layout chosen) : layout(std::move(chosen)) {
  statistics.assign(layout.statistic_count(), 0.0f);
  for (const Tensor& tensor : layout.statistics())
    if (tensor.name.ends_with("running_var"))
      std::fill_n(statistics.begin() + static_cast<std::ptrdiff_t>(tensor.offset), tensor.size, 1.0f);
}

Network::Network(Layout chosen, std::vector<float> given)
    : layout(std::move(chosen)), statistics(std::move(given)) {
  if (statistics.size() != layout.statistic_count())
    throw UsageError(fmt::format("there are {} running statistics for a network that has {}",
                                 statistics.size(), layout.statistic_count()));
  for (const Tensor& tensor : layout.statistics())
    for (std::size_t i = 0; tensor.name.ends_with("running_var") && i < tensor.size; ++i)
      if (!(statistics[tensor.offset + i] >= 0))
        throw UsageError(fmt::format("{}[{}] is {}: a variance cannot be below 0", tensor.name, i,
                                     statistics[tensor.offset + i]));
}

Description paper_cnn(bool batch_norm, std::size_t width) {
  Description net{{3, 32, 32}, {}};
  for (const std::size_t channels : {width, 2 * width, 4 * width}) {
    for (int twice = 0; twice < 2; ++twice) {
      net.layers.emplace_back(Conv2d{.channels = channels, .padding = 1});
      if (batch_norm) net.layers.emplace_back(BatchNorm{});
      net.layers.emplace_back(Activation{});
    }
    net.layers.emplace_back(Pool{});
  }
  net.layers.insert(net.layers.end(), {Flatten{}, Linear{32 * width}, Activation{}, Linear{10}});
  return net;
}

Description mlp(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                ActivationKind activation) {
  Description net{{inputs, 1, 1}, {}};
  for (const std::size_t width : hidden) {
    net.layers.emplace_back(Linear{width});
    net.layers.emplace_back(Activation{activation});
  }
  net.layers.emplace_back(Linear{outputs});
  return net;
}

}  // namespace onward::net
