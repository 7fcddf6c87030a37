// The fast convolution gives what the sum it stands for gives, forward and backward, for every part of a jet.

#include "src/net/winograd.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace onward::net {
namespace {

struct Size {
  std::size_t in, out, height, width, padding, kernel = 3, stride = 1;
};

Layout::Step step_of(const Size& size) {
  const Conv2d conv{.channels = size.out,
                    .kernel_height = size.kernel,
                    .kernel_width = size.kernel,
                    .stride = size.stride,
                    .padding = size.padding};
  return Layout({{size.in, size.height, size.width}, {conv}}).steps()[0];
}

Floats normals(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> normal;
  Floats made(count);
  for (float& x : made) x = normal(generator);
  return made;
}

using Numbers = std::vector<double>;

/// out += in * weights, both images channels last. Backward: from derivatives by the outputs to those by the
/// inputs.
Numbers convolve(const Layout::Step& step, std::size_t padding, std::size_t rows, const float* in,
                 const float* weights, bool backward) {
  const Shape &from = step.in, &to = step.out;
  Numbers out(rows * (backward ? from : to).size(), 0.0);
  for (std::size_t n = 0; n < rows; ++n)
    for (std::size_t y = 0; y < to.height; ++y)
      for (std::size_t x = 0; x < to.width; ++x)
        for (std::size_t k = 0; k < 9; ++k) {
          const std::size_t row = y + k / 3 - padding, column = x + k % 3 - padding;
          if (row >= from.height || column >= from.width) continue;
          const std::size_t source = ((n * from.height + row) * from.width + column) * from.channels,
                            target = ((n * to.height + y) * to.width + x) * to.channels;
          for (std::size_t o = 0; o < to.channels; ++o)
            for (std::size_t i = 0; i < from.channels; ++i) {
              const double weight = weights[(o * from.channels + i) * 9 + k];
              if (backward)
                out[source + i] += weight * in[target + o];
              else
                out[target + o] += weight * in[source + i];
            }
        }
  return out;
}

double rms(const Numbers& x) {
  double sum = 0;
  for (const double entry : x) sum += entry * entry;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

/// Rounding: of single precision and sums of some hundred terms.
void expect_close(const float* got, const Numbers& expected) {
  const double scale = rms(expected);
  Numbers difference(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference[i] = got[i] - expected[i];
    ASSERT_NEAR(got[i], expected[i], 2e-5 * scale) << i;
  }
  EXPECT_LT(rms(difference), 2e-6 * scale);
}

class WinogradSize : public testing::TestWithParam<Size> {};

TEST_P(WinogradSize, IsTheConvolutionForwardAndBackward) {
  const Size& size = GetParam();
  const auto step = step_of(size);
  ASSERT_TRUE(Winograd::takes(step));
  const Winograd winograd(step.in, step.out, size.padding);
  constexpr std::size_t rows = 3;
  const std::size_t in = rows * step.in.size(), out = rows * step.out.size(),
                    weights = 9 * size.in * size.out;
  Floats parts = normals(2 * in, 1);
  const Floats w = normals(weights, 2), v = normals(weights, 3), bias = normals(size.out, 4);
  Floats packed_w(winograd.packed_size()), packed_v(winograd.packed_size()), scratch, outputs(2 * out);
  winograd.pack(w.data(), packed_w.data());
  winograd.pack(v.data(), packed_v.data());

  // A value with its bias and relu, and a slope: z1 = h1 W + h V.
  const std::array<Winograd::Sum, 2> sums{
      {{outputs.data(), {{{0, packed_w.data()}}}, 1, bias.data(), true},
       {outputs.data() + out, {{{0, packed_v.data()}, {1, packed_w.data()}}}, 2, nullptr, false}}};
  winograd.forward(rows, {parts.data(), in, 2}, sums, scratch);
  Numbers value = convolve(step, size.padding, rows, parts.data(), w.data(), false);
  for (std::size_t i = 0; i < out; ++i) value[i] = std::max(0.0, value[i] + bias[i % size.out]);
  expect_close(outputs.data(), value);
  Numbers slope = convolve(step, size.padding, rows, parts.data() + in, w.data(), false);
  const Numbers more = convolve(step, size.padding, rows, parts.data(), v.data(), false);
  for (std::size_t i = 0; i < out; ++i) slope[i] += more[i];
  expect_close(outputs.data() + out, slope);

  const Winograd backward = winograd.backward();
  Floats by_out = normals(out, 5), by_in(in), packed(backward.packed_size());
  backward.pack_backward(w.data(), packed.data());
  const Winograd::Sum sum{by_in.data(), {{{0, packed.data()}}}, 1, nullptr, false};
  backward.forward(rows, {by_out.data(), 0, 1}, std::span(&sum, 1), scratch);
  expect_close(by_in.data(), convolve(step, size.padding, rows, by_out.data(), w.data(), true));
}

TEST_P(WinogradSize, ARowHasTheSameBitsInAnyCompany) {
  const Size& size = GetParam();
  const auto step = step_of(size);
  const Winograd winograd(step.in, step.out, size.padding);
  constexpr std::size_t rows = 5;
  Floats in = normals(rows * step.in.size(), 1), packed(winograd.packed_size()), scratch;
  winograd.pack(normals(9 * size.in * size.out, 2).data(), packed.data());
  Floats all(rows * step.out.size()), one(step.out.size());
  const auto run = [&](float* from, std::size_t count, float* to) {
    const Winograd::Sum sum{to, {{{0, packed.data()}}}, 1, nullptr, false};
    winograd.forward(count, {from, 0, 1}, std::span(&sum, 1), scratch);
  };
  run(in.data(), rows, all.data());
  for (std::size_t n = 0; n < rows; ++n) {
    run(in.data() + n * step.in.size(), 1, one.data());
    EXPECT_TRUE(
        std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(n * one.size())));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WinogradSize,
                         testing::Values(Size{16, 16, 4, 4, 1}, Size{32, 16, 8, 8, 1}, Size{16, 48, 7, 9, 1},
                                         Size{32, 32, 10, 6, 0}, Size{16, 32, 6, 14, 2},
                                         Size{64, 80, 16, 16, 1}),
                         [](const auto& of) {
                           const Size& s = of.param;
                           return "from" + std::to_string(s.in) + "to" + std::to_string(s.out) + "of" +
                                  std::to_string(s.height) + "x" + std::to_string(s.width) + "padded" +
                                  std::to_string(s.padding);
                         });

TEST(Winograd, KeepsWhatIsNotANumber) {
  const auto step = step_of({16, 16, 4, 4, 1});
  const Winograd winograd(step.in, step.out, 1);
  Floats in = normals(step.in.size(), 1), packed(winograd.packed_size()), scratch, out(step.out.size());
  in[5] = std::numeric_limits<float>::quiet_NaN();
  winograd.pack(normals(9 * 16 * 16, 2).data(), packed.data());
  const Winograd::Sum sum{out.data(), {{{0, packed.data()}}}, 1, nullptr, true};
  winograd.forward(1, {in.data(), 0, 1}, std::span(&sum, 1), scratch);
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(Winograd, LeavesOtherLayersToOthers) {
  EXPECT_FALSE(Winograd::takes(step_of({16, 16, 8, 8, 1, 3, 2}))) << "stride 2";
  EXPECT_FALSE(Winograd::takes(step_of({16, 16, 8, 8, 2, 5}))) << "kernel of 5 x 5";
  EXPECT_FALSE(Winograd::takes(step_of({3, 16, 8, 8, 1}))) << "3 channels fill no register";
  EXPECT_FALSE(Winograd::takes(step_of({16, 10, 8, 8, 1})));
  EXPECT_FALSE(Winograd::takes(step_of({16, 16, 2, 2, 1}))) << "a tile would be mostly empty";
}

}  // namespace
}  // namespace onward::net
