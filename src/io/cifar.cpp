#include "onward/io/cifar.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <system_error>
#include <vector>

#include "input_file.hpp"

namespace onward {
namespace {

using detail::InputFile;

constexpr detail::FileKind cifar_kind{"CIFAR-10 file", "Get it anew"};

void append_records(const std::filesystem::path& path, LabelledImages& images) {
  InputFile file(path, cifar_kind);
  std::vector<std::byte> piece(256 * cifar10_record);
  std::size_t records = 0;
  for (;;) {
    const std::size_t came = file.read(piece);
    for (std::size_t at = 0; at + cifar10_record <= came; at += cifar10_record, ++records) {
      const auto label = std::to_integer<std::uint8_t>(piece[at]);
      if (label >= cifar10_classes)
        file.fail(fmt::format("record {} (counted from 0) has the label {}, expected 0 to {}", records, label,
                              cifar10_classes - 1));
      images.labels.push_back(label);
      const auto* first = reinterpret_cast<const std::uint8_t*>(piece.data() + at + 1);
      images.pixels.insert(images.pixels.end(), first, first + cifar10_pixels);
    }
    if (const std::size_t rest = came % cifar10_record; rest != 0)
      file.fail(fmt::format("expected records of {} bytes, found {} and {} bytes more", cifar10_record,
                            records, rest));
    if (came < piece.size()) break;
  }
  if (records == 0) file.fail("it is empty");
  file.require_unchanged();
}

}  // namespace

LabelledImages read_cifar10(std::span<const std::filesystem::path> files) {
  LabelledImages images{.channels = 3, .height = 32, .width = 32};
  // Room for all of them at once: growing would hold two copies for a while.
  std::uintmax_t bytes = 0;
  for (const auto& file : files) {
    std::error_code unknown;
    const auto size = std::filesystem::file_size(file, unknown);
    if (!unknown) bytes += size;
  }
  images.labels.reserve(bytes / cifar10_record);
  images.pixels.reserve(bytes / cifar10_record * cifar10_pixels);
  for (const auto& file : files) append_records(file, images);
  return images;
}

}  // namespace onward
