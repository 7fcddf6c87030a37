#pragma once
// MNIST's idx files, plain or gzipped: arrays of bytes behind a header of big-endian sizes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "onward/io/labelled_images.hpp"

namespace onward {

struct IdxArray {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> data;  ///< the last index runs fastest
};

/// Reads an idx file of bytes with one to four dimensions. Throws Error with the file, what was expected and
/// what was found if the header is not one, or does not agree with the bytes that follow.
IdxArray read_idx(const std::filesystem::path& path);

/// Reads a file of images (count x height x width) and the file of their labels.
LabelledImages read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels);

}  // namespace onward
