#include "onward/net/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/safetensors.hpp"
#include "onward/net/weights.hpp"
#include "onward/random/stream.hpp"

namespace onward::net {
namespace {

// The streams of chains are for samplers.
constexpr std::uint32_t sgd_stream = 0xffffffff;

/// A random order of all images: each epoch has its own.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::size_t epoch) {
  std::vector<double> u(count);
  Stream(seed, sgd_stream).uniforms(epoch, Purpose::shuffle, u);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(u[i - 1] * static_cast<double>(i))]);
  return order;
}

/// An image's place in its frame: pixel (y, x) comes from (y + down, x + right), before which columns may
/// have been mirrored.
struct Move {
  std::ptrdiff_t down, right;
  bool mirrored;
};

Move random_move(const SgdSettings& s, std::size_t epoch, std::size_t number) {
  const Stream stream(s.seed, sgd_stream);
  const auto offset = [&](std::size_t index) {
    const double u = stream.uniform(epoch, Purpose::noise, 4 * number + index);
    return static_cast<std::ptrdiff_t>(u * static_cast<double>(2 * s.shift + 1)) -
           static_cast<std::ptrdiff_t>(s.shift);
  };
  return {offset(0), offset(1), s.mirror && stream.uniform(epoch, Purpose::noise, 4 * number + 2) < 0.5};
}

void move_plane(const std::uint8_t* from, std::size_t height, std::size_t width, const Move& move,
                float scale, float shift, float* out) {
  const auto h = static_cast<std::ptrdiff_t>(height), w = static_cast<std::ptrdiff_t>(width);
  for (std::ptrdiff_t y = 0; y < h; ++y)
    for (std::ptrdiff_t x = 0; x < w; ++x) {
      const std::ptrdiff_t row = y + move.down, seen = x + move.right;
      const bool inside = row >= 0 && row < h && seen >= 0 && seen < w;
      const std::ptrdiff_t column = move.mirrored ? w - 1 - seen : seen;
      const float pixel = inside ? static_cast<float>(from[row * w + column]) : 0.0f;
      out[y * w + x] = pixel * scale + shift;
    }
}

}  // namespace

void validate(const SgdSettings& s) {
  const auto at_least_one = [](const char* what, std::size_t value) {
    if (value < 1) throw UsageError(fmt::format("{} {} is too few: it must be 1 or more", what, value));
  };
  at_least_one("epochs", s.epochs);
  at_least_one("batch", s.batch);
  if (!(s.rate > 0) || !std::isfinite(s.rate))
    throw UsageError(fmt::format("learning rate {} is not usable: it must be a positive number", s.rate));
  if (!(s.rising >= 0 && s.rising < 1))
    throw UsageError(fmt::format("rising {} is not usable: it is a share, from 0 to below 1", s.rising));
  if (!(s.momentum >= 0 && s.momentum < 1))
    throw UsageError(fmt::format("momentum {} is not usable: it must be from 0 to below 1", s.momentum));
  if (!(s.weight_decay >= 0) || !std::isfinite(s.weight_decay))
    throw UsageError(fmt::format("weight decay {} is not usable: it must be 0 or above", s.weight_decay));
}

double learning_rate(const SgdSettings& s, std::size_t step, std::size_t steps) {
  const double rising = s.rising * static_cast<double>(steps), at = static_cast<double>(step) + 0.5;
  if (at < rising) return s.rate * at / rising;
  return s.rate * 0.5 *
         (1 + std::cos(std::numbers::pi * (at - rising) / (static_cast<double>(steps) - rising)));
}

void augment(const LabelledImages& images, const Normalisation& normalise, const SgdSettings& settings,
             std::size_t epoch, std::span<const std::size_t> numbers, ThreadPool& pool,
             std::span<float> out) {
  const std::size_t each = images.pixels_each(), plane = images.height * images.width;
  pool.for_each(numbers.size(), [&](std::size_t i) {
    const Move move = random_move(settings, epoch, numbers[i]);
    for (std::size_t c = 0; c < images.channels; ++c)
      move_plane(images.pixels.data() + numbers[i] * each + c * plane, images.height, images.width, move,
                 1 / (255 * normalise.sd[c]), -normalise.mean[c] / normalise.sd[c],
                 out.data() + i * each + c * plane);
  });
}

Sgd::Sgd(std::shared_ptr<const Layout> layout, std::shared_ptr<const LabelledImages> images,
         Normalisation normalise, const SgdSettings& settings, std::shared_ptr<ThreadPool> pool)
    : layout_(std::move(layout)),
      images_(std::move(images)),
      normalise_(std::move(normalise)),
      settings_(settings),
      pool_(pool ? std::move(pool) : std::make_shared<ThreadPool>(1)),
      training_(layout_, pool_) {
  validate(settings_);
  const Shape shape{images_->channels, images_->height, images_->width};
  if (shape != layout_->input())
    throw UsageError(fmt::format("the images are {} and the network takes {}", to_string(shape),
                                 to_string(layout_->input())));
  if (normalise_.mean.size() != shape.channels || normalise_.sd.size() != shape.channels)
    throw UsageError(fmt::format("{} means and {} sds for images with {} channels: there must be one each",
                                 normalise_.mean.size(), normalise_.sd.size(), shape.channels));
  if (images_->count() < settings_.batch)
    throw UsageError(fmt::format("{} images do not fill a batch of {}: give more images or a smaller batch",
                                 images_->count(), settings_.batch));
  const auto start = lecun_start(*layout_, settings_.seed);
  state_.parameters.assign(start.begin(), start.end());
  state_.velocity.assign(start.size(), 0);
  state_.statistics = Network(*layout_).statistics;
}

void Sgd::set_state(SgdState state) {
  if (state.parameters.size() != state_.parameters.size() ||
      state.velocity.size() != state_.velocity.size() || state.statistics.size() != state_.statistics.size())
    throw UsageError(
        fmt::format("a state of {} parameters, {} velocities and {} statistics for a network with {} "
                    "parameters and {} statistics",
                    state.parameters.size(), state.velocity.size(), state.statistics.size(),
                    state_.parameters.size(), state_.statistics.size()));
  state_ = std::move(state);
}

void Sgd::epoch(const std::function<void(double)>& progress) {
  constexpr double statistics_momentum = 0.1;
  const std::size_t epoch = state_.epochs(), batch = settings_.batch, batches = images_->count() / batch;
  const auto order = shuffled(images_->count(), settings_.seed, epoch);
  std::vector<float> inputs(batch * images_->pixels_each()), gradient(state_.parameters.size());
  std::vector<std::uint8_t> labels(batch);
  double loss = 0;
  for (std::size_t b = 0; b < batches; ++b) {
    const auto numbers = std::span(order).subspan(b * batch, batch);
    augment(*images_, normalise_, settings_, epoch, numbers, *pool_, inputs);
    for (std::size_t i = 0; i < batch; ++i) labels[i] = images_->labels[numbers[i]];
    const double found = training_.gradient(state_.parameters, inputs, labels, state_.statistics,
                                            statistics_momentum, gradient);
    if (!std::isfinite(found))
      throw Error(
          fmt::format("the loss is {} in batch {} of epoch {}: the learning rate {} is too high for this "
                      "network",
                      found, b + 1, epoch + 1, settings_.rate));
    loss += found / static_cast<double>(batches);
    const auto rate =
        static_cast<float>(learning_rate(settings_, epoch * batches + b, settings_.epochs * batches));
    const auto momentum = static_cast<float>(settings_.momentum),
               decay = static_cast<float>(settings_.weight_decay);
    float *theta = state_.parameters.data(), *velocity = state_.velocity.data();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float slope = gradient[i] + decay * theta[i];
      velocity[i] = momentum * velocity[i] + slope;
      theta[i] -= rate * (slope + momentum * velocity[i]);
    }
    if (progress) progress(static_cast<double>(b + 1) / static_cast<double>(batches));
  }
  state_.losses.push_back(loss);
}

void write_state(const std::filesystem::path& file, const StoredState& stored) {
  const SgdState& state = stored.state;
  const std::vector<float> losses(state.losses.begin(), state.losses.end());
  const NamedFloats tensors[] = {{"parameters", {state.parameters.size()}, state.parameters},
                                 {"velocity", {state.velocity.size()}, state.velocity},
                                 {"statistics", {state.statistics.size()}, state.statistics},
                                 {"losses", {losses.size()}, losses}};
  write_safetensors(file, tensors, {{"note", stored.note}});
}

std::optional<StoredState> read_state(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const auto stored = SafeTensors::read(file);
  const auto numbers = [&](const char* name) {
    const SafeTensor* tensor = stored.find(name);
    if (tensor == nullptr || stored.metadata().size() != 1)
      throw Error(fmt::format("{} is no state of a training: remove it to begin anew", file.string()));
    return stored.values(*tensor);
  };
  const auto floats = [&](const char* name) {
    const auto values = numbers(name);
    return std::vector<float>(values.begin(), values.end());
  };
  return StoredState{{floats("parameters"), floats("velocity"), floats("statistics"), numbers("losses")},
                     stored.metadata()[0].second};
}

}  // namespace onward::net
