#include "cnn_images.hpp"

#include <malloc.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "onward/data/data_set.hpp"
#include "onward/error.hpp"
#include "onward/io/cifar.hpp"

namespace onward::experiments {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t signed_of(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

}  // namespace

TrainAndTest load_cnn_images(const std::string& folder) {
  if (folder.empty()) return load_cifar10();
  std::vector<fs::path> train, test;
  for (const auto& file : present_files(data_set("cifar10"), folder))
    if (!file.empty()) (file.filename().string().starts_with("test") ? test : train).push_back(file);
  if (train.empty() || test.empty())
    throw Error(
        fmt::format("{} lacks {}: it must hold data_batch_1.bin (to 5) and test_batch.bin, as CIFAR-10 has "
                    "them; without --data the program takes those of `onward data get cifar10`",
                    folder, train.empty() ? "data_batch_1.bin" : "test_batch.bin"));
  return {read_cifar10(train), read_cifar10(test)};
}

LabelledImages images_from(const LabelledImages& images, std::size_t first) {
  LabelledImages rest{images.channels, images.height, images.width, {}, {}};
  rest.pixels.assign(images.pixels.begin() + signed_of(first * images.pixels_each()), images.pixels.end());
  rest.labels.assign(images.labels.begin() + signed_of(first), images.labels.end());
  return rest;
}

LabelledImages images_before(LabelledImages images, std::size_t count) {
  images.pixels.resize(count * images.pixels_each());
  images.labels.resize(count);
  return images;
}

CnnData load_cnn_data(const std::string& folder, std::size_t held_out) {
  auto images = load_cnn_images(folder);
  if (held_out >= images.train.count())
    throw UsageError(fmt::format("held out {} leaves none of the {} training images: hold out fewer",
                                 held_out, images.train.count()));
  const auto data = [](LabelledImages set) {
    return net::image_data(std::move(set), cifar10_classes, net::cifar10_normalisation());
  };
  auto last = images_from(images.train, images.train.count() - held_out);
  LabelledImages& train = images.train;
  const std::vector shape{train.count(), train.channels, train.height, train.width};
  CnnData all{Array::of(std::move(train.pixels), shape), Array::of(std::move(train.labels)),
              data(std::move(last)), data(std::move(images.test))};
  // What reading left behind would hide what rows need.
  ::malloc_trim(0);
  return all;
}

}  // namespace onward::experiments
