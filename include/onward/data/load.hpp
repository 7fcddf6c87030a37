#pragma once
// The data sets in memory: bytes for pixels and for labels.

#include <filesystem>

#include "onward/io/labelled_images.hpp"

namespace onward {

struct TrainAndTest {
  LabelledImages train, test;
};

/// 60,000 and 10,000 images of 28 x 28 grey pixels, labels 0 to 9. `dir` as for data_folder. Throws Error
/// that says how to get the files if they are not there.
TrainAndTest load_mnist(const std::filesystem::path& dir = {});
/// The same shapes as load_mnist.
TrainAndTest load_fashion_mnist(const std::filesystem::path& dir = {});
/// 50,000 and 10,000 images of 3 x 32 x 32 pixels (red, green and blue plane), labels 0 to 9.
TrainAndTest load_cifar10(const std::filesystem::path& dir = {});

}  // namespace onward
