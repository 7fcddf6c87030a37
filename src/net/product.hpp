#pragma once
// Products of activations with weights (linear layers and convolutions, forward and backward): most
// convolutions by Winograd's way, all else by oneDNN. The activations are channels last, which its fastest
// kernels want; weights are packed the way it likes best.
//
// oneDNN would start OpenMP threads of its own. Ours share the pieces of the data instead: whatever calls it
// holds a OneThread.

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "memory.hpp"
#include "onward/net/description.hpp"
#include "winograd.hpp"

namespace onward::net {

/// As long as it lives, libraries start no threads for work of this thread.
class OneThread {
 public:
  OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread();

 private:
  int before_;
};

const dnnl::engine& cpu();

class Kernel;

/// What a thread needs to execute kernels: a queue, scratch memory, and memory objects that it sets to the
/// arrays at hand.
class Workbench {
 public:
  Workbench() : stream_(cpu()) {}

 private:
  friend class Kernel;
  friend class Product;
  dnnl::stream stream_;
  Floats scratch_;   // of a kernel
  Floats gradient_;  // by the weights of a layer, in the order that oneDNN likes
  std::unordered_map<const Kernel*, std::vector<dnnl::memory>> memories_;
};

/// A oneDNN primitive and the arguments it takes as plain arrays.
class Kernel {
 public:
  struct Argument {
    int name;
    dnnl::memory::desc form;
  };
  Kernel(dnnl::primitive primitive, std::vector<Argument> arguments, const dnnl::memory::desc& scratchpad);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// The arrays are in the order of the arguments. Packed weights come as the memory objects they live in,
  /// since setting those anew would write to their padding.
  void run(Workbench& bench, std::span<float* const> arrays, int packed_name = 0,
           const dnnl::memory* packed = nullptr) const;

 private:
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  dnnl::memory::desc scratchpad_;
};

/// Weights in the order that kernels want.
struct PackedWeights {
  Floats floats;
  dnnl::memory memory;
};

/// A linear layer or a convolution, with the relu after it if there is one.
class Product {
 public:
  /// One part of the input times weights.
  struct Term {
    std::size_t part;
    const PackedWeights* weights;
  };
  /// One part of the output: a sum of terms.
  struct Sum {
    float* out;
    const float* bias = nullptr;  ///< or null; looked at if there is a term
    bool relu = false;            ///< with the relu, if there is one: for values
    std::array<Term, 2> terms{};
    std::size_t count = 0;  ///< of terms; without any it is 0

    void add(const Term& term) { terms[count++] = term; }
  };

  /// Weights are packed for what suits `rows` rows best.
  Product(const Layout::Step& step, bool relu, std::size_t rows);

  std::size_t weights() const { return weights_; }

  // Only these two change a product; all else may run on several threads at once.
  /// Makes the kernels for so many rows.
  void prepare(std::size_t rows, bool tangents);
  void prepare_backward(std::size_t rows);

  PackedWeights packed() const;
  std::size_t packed_bytes() const;
  PackedWeights packed_backward() const;
  /// From PyTorch's order.
  void pack(float* plain, PackedWeights& out, Workbench& bench) const;
  void pack_backward(float* plain, PackedWeights& out, Workbench& bench) const;

  void forward(std::size_t rows, const Stack& in, std::span<const Sum> sums, Workbench& bench) const;
  /// The loss's derivatives by the inputs, from those by the outputs (before the relu).
  void backward_inputs(std::size_t rows, const float* by_out, const PackedWeights& weights, float* by_in,
                       Workbench& bench) const;
  /// Those by the weights and by the bias, in PyTorch's order; without a bias by_bias is not touched.
  void backward_weights(std::size_t rows, const float* in, const float* by_out, float* by_weights,
                        float* by_bias, Workbench& bench) const;

 private:
  /// What a kernel of oneDNN does.
  enum class Use {
    biased,  ///< out = in W + b
    plain,   ///< out = in W
    sum,     ///< out += in W
  };
  using Form = dnnl::memory::desc;
  using Kernels = std::map<std::size_t, std::unique_ptr<Kernel>>;  // by rows

  static PackedWeights packed_as(const Form& form);
  static PackedWeights packed_for(const Winograd& winograd);
  Form activations(const Shape& shape, std::size_t rows) const;
  Form weights_in(dnnl::memory::format_tag tag) const { return {weight_dims_, float32, tag}; }
  Form bias_form() const { return {{static_cast<dnnl::memory::dim>(outputs_)}, float32, tag_x}; }
  dnnl::primitive_desc forward_primitive(Use use, std::size_t rows, const Form& weights) const;
  void make_forward(Use use, std::size_t rows);

  static constexpr auto float32 = dnnl::memory::data_type::f32;
  static constexpr auto tag_x = dnnl::memory::format_tag::x;

  Shape in_, out_;
  bool is_conv_ = false, has_bias_ = false, relu_ = false;
  std::optional<Winograd> winograd_, winograd_backward_;
  std::size_t weights_ = 0, outputs_ = 0;
  dnnl::memory::dims weight_dims_, strides_, padding_;
  Form plain_form_, forward_form_, backward_form_, gradient_form_;
  std::unique_ptr<Kernel> pack_, pack_backward_, unpack_gradient_;
  std::array<Kernels, 3> forward_;  // by Use
  Kernels backward_inputs_, backward_weights_;
};

}  // namespace onward::net
