#pragma once
// Networks computed the plain way, in double and with forward-mode scalars, to compare the fast ones with.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "onward/ad/ad.hpp"
#include "onward/net/posterior.hpp"

namespace onward::net {

/// A row of activations, channel after channel.
template <class T>
using Row = std::vector<T>;

template <class T>
double plain(const T& x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return x.value;
}

template <class T>
class ReferenceNet {
 public:
  ReferenceNet(const Network& network, std::span<const T> theta) : network_(network), theta_(theta) {}

  Row<T> outputs(Row<T> row) const {
    std::vector<Row<T>> inputs;
    for (const auto& step : network_.layout.steps()) {
      inputs.push_back(row);
      row = std::visit([&](const auto& layer) { return after(layer, step, inputs); }, step.layer);
    }
    return row;
  }

 private:
  using Inputs = std::vector<Row<T>>;

  Row<T> after(const Linear& layer, const Layout::Step& step, const Inputs& inputs) const {
    Row<T> out(layer.outputs, T(0));
    const std::size_t width = step.in.size();
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      for (std::size_t i = 0; i < width; ++i) out[o] += theta_[step.begin + o * width + i] * inputs.back()[i];
      if (layer.bias) out[o] += theta_[step.begin + layer.outputs * width + o];
    }
    return out;
  }
  Row<T> after(const Conv2d& layer, const Layout::Step& step, const Inputs& inputs) const {
    const Shape &in = step.in, &out = step.out;
    Row<T> result(out.size(), T(0));
    for (std::size_t o = 0; o < out.channels; ++o)
      for (std::size_t y = 0; y < out.height; ++y)
        for (std::size_t x = 0; x < out.width; ++x) {
          T& sum = result[(o * out.height + y) * out.width + x];
          if (layer.bias)
            sum += theta_[step.begin + out.channels * in.channels * layer.kernel_height * layer.kernel_width +
                          o];
          for (std::size_t i = 0; i < in.channels; ++i)
            for (std::size_t ky = 0; ky < layer.kernel_height; ++ky)
              for (std::size_t kx = 0; kx < layer.kernel_width; ++kx) {
                const std::size_t py = y * layer.stride + ky, px = x * layer.stride + kx;
                if (py < layer.padding || py >= in.height + layer.padding || px < layer.padding ||
                    px >= in.width + layer.padding)
                  continue;
                const T& pixel =
                    inputs.back()[(i * in.height + py - layer.padding) * in.width + px - layer.padding];
                sum += theta_[step.begin +
                              ((o * in.channels + i) * layer.kernel_height + ky) * layer.kernel_width + kx] *
                       pixel;
              }
        }
    return result;
  }
  Row<T> after(const Activation& layer, const Layout::Step&, const Inputs& inputs) const {
    using std::erf, std::exp, std::log1p, std::tanh;
    Row<T> row = inputs.back();
    for (T& x : row) switch (layer.kind) {
        case ActivationKind::relu:
          x = plain(x) > 0 ? x : T(0);
          break;
        case ActivationKind::tanh:
          x = tanh(x);
          break;
        case ActivationKind::gelu:
          x = 0.5 * x * (1.0 + erf(x * (std::numbers::sqrt2 / 2)));
          break;
        case ActivationKind::softplus:
          x = plain(x) > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
          break;
      }
    return row;
  }
  Row<T> after(const Pool& layer, const Layout::Step& step, const Inputs& inputs) const {
    const Shape &in = step.in, &out = step.out;
    Row<T> result(out.size(), T(0));
    for (std::size_t c = 0; c < out.channels; ++c)
      for (std::size_t y = 0; y < out.height; ++y)
        for (std::size_t x = 0; x < out.width; ++x) {
          T sum(0), best(0);
          for (std::size_t ky = 0; ky < layer.size; ++ky)
            for (std::size_t kx = 0; kx < layer.size; ++kx) {
              const T& pixel =
                  inputs.back()[(c * in.height + y * layer.stride + ky) * in.width + x * layer.stride + kx];
              if (ky + kx == 0 || plain(pixel) > plain(best)) best = pixel;
              sum += pixel;
            }
          result[(c * out.height + y) * out.width + x] =
              layer.kind == PoolKind::max ? best : sum / static_cast<double>(layer.size * layer.size);
        }
    return result;
  }
  Row<T> after(const Flatten&, const Layout::Step&, const Inputs& inputs) const { return inputs.back(); }
  Row<T> after(const BatchNorm& layer, const Layout::Step& step, const Inputs& inputs) const {
    Row<T> row = inputs.back();
    const std::size_t channels = step.in.channels, pixels = step.in.size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      const double mean = network_.statistics[step.statistics + c];
      const double sd = std::sqrt(network_.statistics[step.statistics + channels + c] + layer.epsilon);
      for (std::size_t i = 0; i < pixels; ++i) {
        T& x = row[c * pixels + i];
        x = (x - mean) / sd * theta_[step.begin + c] + theta_[step.begin + channels + c];
      }
    }
    return row;
  }
  Row<T> after(const Residual& layer, const Layout::Step&, const Inputs& inputs) const {
    Row<T> row = inputs.back();
    const Row<T>& from = inputs[inputs.size() - 1 - layer.layers];
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += from[i];
    return row;
  }

  const Network& network_;
  std::span<const T> theta_;
};

/// The log posterior in double, with known sigma or sampled, up to nothing.
template <class T>
T reference_density(const NetworkPosterior& posterior, std::span<const T> theta) {
  using std::exp, std::log;
  const auto& data = posterior.data();
  const auto& options = posterior.options();
  const ReferenceNet<T> net(posterior.network(), theta);
  const Shape& shape = data.inputs.shape();
  std::vector<float> pixels(shape.size());
  T sum(0);
  const double log_root_2pi = 0.5 * std::log(2 * std::numbers::pi);
  for (std::size_t n = 0; n < data.count(); ++n) {
    data.inputs.read_channels_last(n, 1, pixels.data());
    Row<T> row(shape.size());
    const std::size_t plane = shape.height * shape.width;
    for (std::size_t c = 0; c < shape.channels; ++c)
      for (std::size_t i = 0; i < plane; ++i)
        row[c * plane + i] = T(static_cast<double>(pixels[i * shape.channels + c]));
    const Row<T> out = net.outputs(std::move(row));
    if (data.answers.are_labels()) {
      T total(0);
      for (const T& z : out) total += exp(z);
      sum += out[data.answers.label(n)] - log(total);
      continue;
    }
    const T log_sigma = posterior.samples_sigma() ? theta.back() : T(std::log(*options.known_sigma));
    for (std::size_t k = 0; k < out.size(); ++k) {
      const T z = (out[k] - static_cast<double>(data.answers.row(n)[k])) * exp(-log_sigma);
      sum += -0.5 * z * z - log_sigma - log_root_2pi;
    }
  }
  for (std::size_t i = 0; i < posterior.network().layout.parameter_count(); ++i) {
    const T z = theta[i] / options.prior_sd;
    sum += -0.5 * z * z - std::log(options.prior_sd) - log_root_2pi;
  }
  if (posterior.samples_sigma()) {
    // Student t with 3 degrees of freedom and scale 2.5, cut at 0, without its constant; log sigma's
    // Jacobian.
    const T ratio = exp(theta.back()) / 2.5;
    sum += -2.0 * log(1.0 + ratio * ratio / 3.0) + theta.back();
  }
  return sum;
}

inline Jet reference_jet(const NetworkPosterior& posterior, std::span<const double> theta,
                         std::span<const double> v) {
  std::vector<Jet2<double>> line(theta.size());
  for (std::size_t i = 0; i < theta.size(); ++i) line[i] = Jet2<double>(theta[i], v[i]);
  const auto jet = reference_density<Jet2<double>>(posterior, line);
  return {jet.value, jet.slope, jet.curvature};
}

/// Numbers in (-1, 1) times a scale, the same on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : engine_(seed) {}
  double next() { return static_cast<double>(engine_() >> 11) * 0x1p-52 - 1; }
  template <class Real>
  std::vector<Real> some(std::size_t count, double scale) {
    std::vector<Real> numbers(count);
    for (Real& number : numbers) number = static_cast<Real>(scale * next());
    return numbers;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace onward::net
