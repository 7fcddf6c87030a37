#pragma once
// 3x3 convolutions with stride 1 by Winograd's minimal filtering: 36 products for a tile of 4 x 4 outputs
// instead of 144. A tile's 6 x 6 inputs are evaluated, as polynomials, at 36 pairs of points, and so are the
// weights; there the convolution is 36 matrix products over the channels; the way back gives the outputs.
//
// The points are 0, +-5/8, +-3/2 and infinity. The usual +-1 and +-2 cost more digits; with these the
// rounding error is up to two and a half times that of the direct sum.
//
// Parts of a jet share the evaluated inputs, and are added up before the way back.

#include <array>
#include <cstddef>
#include <span>

#include "memory.hpp"
#include "onward/net/description.hpp"

namespace onward::net {

class Winograd {
 public:
  static constexpr std::size_t kernel = 3;

  /// Whether it is a way to compute this layer, and a good one: channels fill registers, images fill tiles.
  static bool takes(const Layout::Step& step);

  /// `padding` zeros around the image; activations are channels last.
  Winograd(const Shape& in, const Shape& out, std::size_t padding);

  /// Floats of weights, evaluated.
  std::size_t packed_size() const;
  /// From PyTorch's order.
  void pack(const float* plain, float* out) const;

  /// The convolution that gives derivatives by the inputs from those by the outputs: of the other shapes,
  /// with weights turned around.
  Winograd backward() const { return {out_, in_, kernel - 1 - padding_}; }
  /// Its weights, from PyTorch's order of those of the layer itself.
  void pack_backward(const float* plain, float* out) const;

  /// One part of the input times weights.
  struct Term {
    std::size_t part;
    const float* weights;  ///< packed
  };
  /// One part of the output.
  struct Sum {
    float* out;
    std::array<Term, 2> terms;
    std::size_t count;  ///< of terms: 1 or 2
    const float* bias;  ///< or null
    bool relu;
  };
  void forward(std::size_t rows, const Stack& in, std::span<const Sum> sums, Floats& scratch) const;

 private:
  /// Where a tile is.
  struct Place {
    std::size_t row, y, x;
  };
  Place place(std::size_t tile) const;
  template <class Weight>
  void pack_each(const Weight& weight, float* out) const;
  void evaluate(const float* in, std::size_t first, std::size_t tiles, float* out) const;
  void multiply(const Sum& sum, std::size_t tiles, const float* evaluated, float* out) const;
  void interpolate(const Sum& sum, std::size_t first, std::size_t tiles, const float* products) const;

  Shape in_, out_;
  std::size_t padding_, down_, across_;  // tiles of an image
};

}  // namespace onward::net
