#pragma once
// Layers that are no products: what they do to a stack of activations, and backward. Images are channels
// last; a stack's parts beyond in.parts are zero and not there.

#include <array>
#include <cstddef>

#include "memory.hpp"
#include "onward/net/description.hpp"

namespace onward::net {

/// In place. What is not a number stays so.
void relu(float* x, std::size_t n);
/// Slopes and curvatures stay where the value, after its relu, is above 0.
void mask_by_value(const Stack& stack, std::size_t n);

/// For n numbers a part; `order` is that of the jet: a curved function gives curvature to what had none. out
/// may be in. Sets out.parts.
void activate(ActivationKind kind, const Stack& in, Stack& out, std::size_t n, std::size_t order);
/// The same for slopes along two lines.
void activate_two(ActivationKind kind, const Stack& in, Stack& out, std::size_t n);
/// by_in = by_out times the derivative, from what went in and came out; by_in may be by_out.
void activate_backward(ActivationKind kind, const float* in, const float* out, const float* by_out,
                       float* by_in, std::size_t n);

/// A maximum takes slope and curvature along from where it was found first. With `masks`, values are those
/// after a relu, and so must become slopes and curvatures.
void pool(const Pool& layer, const Shape& in_shape, const Shape& out_shape, std::size_t rows, bool masks,
          const Stack& in, Stack& out);
/// by_in is overwritten.
void pool_backward(const Pool& layer, const Shape& in_shape, const Shape& out_shape, std::size_t rows,
                   const float* in, const float* by_out, float* by_in);

/// From channels last to channels first, a part at a time, and back.
void channels_first(const Shape& shape, std::size_t rows, const float* in, float* out);
void channels_last(const Shape& shape, std::size_t rows, const float* in, float* out);

/// out = scale in + shift, a pair of numbers a channel; `affine` has the scales, then the shifts, and `moves`
/// how they change along the line, or is null. out may be in. Sets out.parts.
void scale_channels(std::size_t channels, std::size_t pixels, const float* affine, const float* moves,
                    const Stack& in, Stack& out, std::size_t order);

/// The same for slopes along two lines, with what changes along each, or null.
void scale_channels_two(std::size_t channels, std::size_t pixels, const float* affine,
                        const std::array<const float*, 2>& moves, const Stack& in, Stack& out);

/// out = a + b; out may be either. Sets out.parts.
void add(const Stack& a, const Stack& b, Stack& out, std::size_t n);

}  // namespace onward::net
