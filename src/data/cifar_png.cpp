#include "cifar_png.hpp"

#include <fmt/format.h>
#include <png.h>

#include <nlohmann/json.hpp>

#include "../io/system_file.hpp"
#include "onward/error.hpp"
#include "onward/io/cifar.hpp"
#include "onward/io/json.hpp"

namespace onward::detail {
namespace {

constexpr std::size_t plane = cifar10_pixels / 3;

/// The red, green and blue of each pixel, row by row.
std::vector<std::uint8_t> read_png(const std::filesystem::path& path, std::size_t count) {
  png_image picture{};
  picture.version = PNG_IMAGE_VERSION;
  const auto unreadable = [&] {
    return Error(fmt::format("{}: cannot be read as a PNG picture: {}.", path.string(), picture.message));
  };
  if (png_image_begin_read_from_file(&picture, path.c_str()) == 0) throw unreadable();
  const bool opaque_colours =
      (picture.format & PNG_FORMAT_FLAG_COLOR) != 0 && (picture.format & PNG_FORMAT_FLAG_ALPHA) == 0;
  if (!opaque_colours || picture.width != plane || picture.height != count) {
    png_image_free(&picture);
    throw Error(fmt::format("{}: expected a picture of {} x {} opaque coloured pixels, found {} x {}.",
                            path.string(), plane, count, picture.width, picture.height));
  }
  picture.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(3 * plane * count);
  if (png_image_finish_read(&picture, nullptr, pixels.data(), 0, nullptr) == 0) throw unreadable();
  return pixels;
}

}  // namespace

std::vector<std::uint8_t> read_label_json(const std::filesystem::path& path) {
  try {
    std::vector<std::uint8_t> labels;
    for (const auto& entry : parse_json(read_whole(path), path.string())) {
      const auto label = entry.get<unsigned>();
      if (label >= cifar10_classes)
        throw Error(fmt::format("{}: entry {} (counted from 0) is {}, expected 0 to {}.", path.string(),
                                labels.size(), label, cifar10_classes - 1));
      labels.push_back(static_cast<std::uint8_t>(label));
    }
    return labels;
  } catch (const nlohmann::json::exception& problem) {
    throw Error(fmt::format("{}: not a JSON array of labels: {}.", path.string(), problem.what()));
  }
}

std::vector<std::byte> cifar_records(const std::filesystem::path& png, const std::uint8_t* labels,
                                     std::size_t count) {
  const std::vector<std::uint8_t> pixels = read_png(png, count);
  std::vector<std::byte> records(count * cifar10_record);
  for (std::size_t image = 0; image < count; ++image) {
    std::byte* const record = records.data() + image * cifar10_record;
    record[0] = std::byte{labels[image]};
    for (std::size_t i = 0; i < plane; ++i)
      for (std::size_t channel = 0; channel < 3; ++channel)
        record[1 + channel * plane + i] = std::byte{pixels[3 * (image * plane + i) + channel]};
  }
  return records;
}

}  // namespace onward::detail
