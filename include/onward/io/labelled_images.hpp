#pragma once
// Images with their classes, as image data sets have them: bytes, and they stay bytes.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onward {

struct LabelledImages {
  std::size_t channels = 1, height = 0, width = 0;
  std::vector<std::uint8_t> pixels{};  ///< image after image; in it channel after channel, row after row
  std::vector<std::uint8_t> labels{};  ///< one for each image

  std::size_t count() const { return labels.size(); }
  std::size_t pixels_each() const { return channels * height * width; }
};

}  // namespace onward
