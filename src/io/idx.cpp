#include "onward/io/idx.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <utility>

#include "input_file.hpp"
#include "onward/error.hpp"

namespace onward {
namespace {

using detail::InputFile;

constexpr detail::FileKind idx_kind{"idx file", "Get it anew"};
constexpr unsigned bytes_type = 0x08;  // what the header calls elements that are bytes

unsigned big_endian(std::span<const std::byte, 4> bytes) {
  unsigned value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<unsigned>(byte);
  return value;
}

unsigned read_word(InputFile& file) {
  std::array<std::byte, 4> bytes{};
  file.read_fully(bytes, "its header");
  return big_endian(bytes);
}

/// The first four bytes are 0, 0, the type of the elements and the number of dimensions.
std::size_t read_dimensions(InputFile& file) {
  const unsigned word = read_word(file);
  const unsigned type = word >> 8, dimensions = word & 0xff;
  if (type != bytes_type || dimensions < 1 || dimensions > 4)
    file.fail(fmt::format("it begins with {:08x}, expected 00000801 to 00000804 (bytes in 1 to 4 dimensions)",
                          word));
  return dimensions;
}

void require_dimensions(const std::filesystem::path& path, const IdxArray& array, std::size_t wanted,
                        std::string_view what) {
  if (array.shape.size() != wanted)
    throw Error(fmt::format("{}: {} have {} dimensions, this file has {} ({}). Are the files exchanged?",
                            path.string(), what, wanted, array.shape.size(), fmt::join(array.shape, " x ")));
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path) {
  InputFile file(path, idx_kind);
  IdxArray array;
  array.shape.resize(read_dimensions(file));
  std::uint64_t total = 1;
  bool fits = true;
  for (auto& size : array.shape) {
    size = read_word(file);
    fits = !__builtin_mul_overflow(total, std::uint64_t{size}, &total) && fits;
  }
  const std::string promise = fmt::format("promises {} bytes", fmt::join(array.shape, " x "));
  if (!fits) file.fail(fmt::format("its header {}, more than any file has", promise));
  array.data = file.read_promised<std::uint8_t>(total, promise);
  return array;
}

LabelledImages read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels) {
  IdxArray classes = read_idx(labels);
  require_dimensions(labels, classes, 1, "labels");
  IdxArray pictures = read_idx(images);
  require_dimensions(images, pictures, 3, "images");
  if (pictures.shape[0] != classes.shape[0])
    throw Error(fmt::format("{} has {} images and {} has {} labels: they do not belong together.",
                            images.string(), pictures.shape[0], labels.string(), classes.shape[0]));
  return {.channels = 1,
          .height = pictures.shape[1],
          .width = pictures.shape[2],
          .pixels = std::move(pictures.data),
          .labels = std::move(classes.data)};
}

}  // namespace onward
