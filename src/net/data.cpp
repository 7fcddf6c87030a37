#include "onward/net/data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "onward/error.hpp"

namespace onward::net {
namespace {

std::size_t rows_of(std::size_t numbers, std::size_t each, std::string_view what) {
  if (each == 0 || numbers % each != 0)
    throw UsageError(fmt::format("{} {} are no whole number of rows of {}", numbers, what, each));
  return numbers / each;
}

void check_first(std::size_t asked, std::size_t there) {
  if (asked > there) throw UsageError(fmt::format("{} rows were asked for and there are {}", asked, there));
}

}  // namespace

Normalisation cifar10_normalisation() { return {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}}; }

Inputs Inputs::values(const Shape& shape, std::vector<float> values) {
  const auto kept = std::make_shared<const std::vector<float>>(std::move(values));
  return Inputs::values(shape, *kept, kept);
}

Inputs Inputs::values(const Shape& shape, std::span<const float> values, std::shared_ptr<const void> owner) {
  Inputs inputs;
  inputs.shape_ = shape;
  inputs.count_ = rows_of(values.size(), shape.size(), "inputs");
  inputs.values_ = values;
  inputs.owner_ = std::move(owner);
  return inputs;
}

Inputs Inputs::pixels(const Shape& shape, std::vector<std::uint8_t> pixels, const Normalisation& normalise) {
  const auto kept = std::make_shared<const std::vector<std::uint8_t>>(std::move(pixels));
  return Inputs::pixels(shape, *kept, normalise, kept);
}

Inputs Inputs::pixels(const Shape& shape, std::span<const std::uint8_t> pixels,
                      const Normalisation& normalise, std::shared_ptr<const void> owner) {
  Inputs inputs;
  inputs.shape_ = shape;
  inputs.count_ = rows_of(pixels.size(), shape.size(), "pixels");
  if (normalise.mean.size() != shape.channels || normalise.sd.size() != shape.channels)
    throw UsageError(fmt::format("there are {} means and {} sds for the {} channels of the images",
                                 normalise.mean.size(), normalise.sd.size(), shape.channels));
  for (std::size_t c = 0; c < shape.channels; ++c) {
    if (!(normalise.sd[c] > 0))
      throw UsageError(fmt::format("the sd of channel {} is {}: it must be above 0", c, normalise.sd[c]));
    inputs.scale_.push_back(1 / (255 * normalise.sd[c]));
    inputs.shift_.push_back(-normalise.mean[c] / normalise.sd[c]);
  }
  inputs.pixels_ = pixels;
  inputs.owner_ = std::move(owner);
  return inputs;
}

std::size_t Inputs::bytes() const { return pixels_.size_bytes() + values_.size_bytes(); }

Inputs Inputs::first(std::size_t count) const {
  check_first(count, count_);
  Inputs inputs = *this;
  inputs.count_ = count;
  return inputs;
}

void Inputs::read_channels_last(std::size_t first, std::size_t count, float* out) const {
  const std::size_t channels = shape_.channels, plane = shape_.height * shape_.width;
  for (std::size_t row = first; row < first + count; ++row, out += shape_.size())
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t from = row * shape_.size() + c * plane;
      if (!pixels_.empty())
        for (std::size_t i = 0; i < plane; ++i)
          out[i * channels + c] = static_cast<float>(pixels_[from + i]) * scale_[c] + shift_[c];
      else
        for (std::size_t i = 0; i < plane; ++i) out[i * channels + c] = values_[from + i];
    }
}

Answers Answers::values(std::size_t each, std::vector<float> values) {
  Answers answers;
  answers.width_ = each;
  answers.count_ = rows_of(values.size(), each, "answers");
  answers.values_ = std::make_shared<const std::vector<float>>(std::move(values));
  return answers;
}

Answers Answers::labels(std::size_t classes, std::span<const std::uint8_t> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= classes)
      throw Error(fmt::format("label {} of row {} is out of range: with {} classes labels are 0 to {}",
                              labels[i], i, classes, classes - 1));
  Answers answers;
  answers.width_ = classes;
  answers.count_ = labels.size();
  answers.labels_ = std::make_shared<const std::vector<std::uint8_t>>(labels.begin(), labels.end());
  return answers;
}

Answers Answers::first(std::size_t count) const {
  check_first(count, count_);
  Answers answers = *this;
  answers.count_ = count;
  return answers;
}

Data image_data(LabelledImages images, std::size_t classes, const Normalisation& normalise) {
  const Shape shape{images.channels, images.height, images.width};
  auto answers = Answers::labels(classes, images.labels);
  return {Inputs::pixels(shape, std::move(images.pixels), normalise), std::move(answers)};
}

}  // namespace onward::net
