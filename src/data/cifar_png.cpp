#include "cifar_png.hpp"

#include <cairo.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "../io/system_file.hpp"
#include "onward/error.hpp"
#include "onward/io/cifar.hpp"
#include "onward/io/json.hpp"

namespace onward::detail {
namespace {

constexpr std::size_t plane = cifar10_pixels / 3;

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
using Surface = std::unique_ptr<cairo_surface_t, DestroySurface>;

Surface read_png(const std::filesystem::path& path, std::size_t count) {
  Surface picture(cairo_image_surface_create_from_png(path.c_str()));
  if (const auto status = cairo_surface_status(picture.get()); status != CAIRO_STATUS_SUCCESS)
    throw Error(fmt::format("{}: cannot be read as a PNG picture: {}.", path.string(),
                            cairo_status_to_string(status)));
  const int width = cairo_image_surface_get_width(picture.get());
  const int height = cairo_image_surface_get_height(picture.get());
  // Pictures with an alpha channel would come with colours multiplied by it.
  if (cairo_image_surface_get_format(picture.get()) != CAIRO_FORMAT_RGB24 ||
      width != static_cast<int>(plane) || static_cast<std::size_t>(height) != count)
    throw Error(fmt::format("{}: expected a picture of {} x {} opaque coloured pixels, found {} x {}.",
                            path.string(), plane, count, width, height));
  return picture;
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
  const Surface picture = read_png(png, count);
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(picture.get()));
  const unsigned char* const pixels = cairo_image_surface_get_data(picture.get());
  std::vector<std::byte> records(count * cifar10_record);
  for (std::size_t image = 0; image < count; ++image) {
    std::byte* const record = records.data() + image * cifar10_record;
    record[0] = std::byte{labels[image]};
    for (std::size_t i = 0; i < plane; ++i) {
      std::uint32_t pixel = 0;  // 0x00RRGGBB
      std::memcpy(&pixel, pixels + image * stride + i * sizeof pixel, sizeof pixel);
      for (std::size_t channel = 0; channel < 3; ++channel)
        record[1 + channel * plane + i] = static_cast<std::byte>(pixel >> (16 - 8 * channel) & 0xff);
    }
  }
  return records;
}

}  // namespace onward::detail
