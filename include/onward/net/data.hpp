#pragma once
// What a network is shown and what it should answer. Images stay the bytes they came as; they become numbers
// a piece at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "onward/io/labelled_images.hpp"
#include "onward/net/description.hpp"

namespace onward::net {

/// A pixel p of a channel becomes (p/255 - mean) / sd.
struct Normalisation {
  std::vector<float> mean, sd;  ///< one a channel
};
/// What is usual for CIFAR-10: mean 0.4914, 0.4822, 0.4465, sd 0.2470, 0.2435, 0.2616.
Normalisation cifar10_normalisation();

/// Rows of one shape. Copies share their memory.
class Inputs {
 public:
  /// Row after row, each channel after channel, row after row. Throws UsageError if the size does not fit.
  static Inputs values(const Shape& shape, std::vector<float> values);
  static Inputs pixels(const Shape& shape, std::vector<std::uint8_t> pixels, const Normalisation& normalise);
  /// The same of memory that the owner keeps.
  static Inputs values(const Shape& shape, std::span<const float> values, std::shared_ptr<const void> owner);
  static Inputs pixels(const Shape& shape, std::span<const std::uint8_t> pixels,
                       const Normalisation& normalise, std::shared_ptr<const void> owner);

  const Shape& shape() const { return shape_; }
  std::size_t count() const { return count_; }
  /// The memory they take.
  std::size_t bytes() const;
  /// The first so many rows, in the same memory.
  Inputs first(std::size_t count) const;
  /// Rows [first, first + count) as numbers, channels last: out has count x height x width x channels.
  void read_channels_last(std::size_t first, std::size_t count, float* out) const;

 private:
  Shape shape_;
  std::size_t count_ = 0;
  std::span<const float> values_;         // either these
  std::span<const std::uint8_t> pixels_;  // or these
  std::shared_ptr<const void> owner_;
  std::vector<float> scale_, shift_;  // a channel's pixel p stands for p * scale + shift
};

/// Answers: rows of numbers, or classes. Copies share their memory.
class Answers {
 public:
  static Answers values(std::size_t each, std::vector<float> values);
  /// Throws Error that names the first label that is `classes` or more.
  static Answers labels(std::size_t classes, std::span<const std::uint8_t> labels);

  bool are_labels() const { return labels_ != nullptr; }
  std::size_t count() const { return count_; }
  std::size_t width() const { return width_; }  ///< entries of a row, or classes
  const float* row(std::size_t i) const { return values_->data() + i * width_; }
  std::size_t label(std::size_t i) const { return (*labels_)[i]; }
  Answers first(std::size_t count) const;

 private:
  std::size_t count_ = 0, width_ = 0;
  std::shared_ptr<const std::vector<float>> values_;
  std::shared_ptr<const std::vector<std::uint8_t>> labels_;
};

struct Data {
  Inputs inputs;
  Answers answers;

  std::size_t count() const { return inputs.count(); }
  Data first(std::size_t rows) const { return {inputs.first(rows), answers.first(rows)}; }
};

/// Throws Error if a label is `classes` or more.
Data image_data(LabelledImages images, std::size_t classes, const Normalisation& normalise);

}  // namespace onward::net
