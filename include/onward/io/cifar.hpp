#pragma once
// CIFAR-10's binary files: records of a label and the red, green and blue planes of a 32 x 32 image.

#include <cstddef>
#include <filesystem>
#include <span>

#include "onward/io/labelled_images.hpp"

namespace onward {

inline constexpr std::size_t cifar10_pixels = std::size_t{3} * 32 * 32;
inline constexpr std::size_t cifar10_record = 1 + cifar10_pixels;  ///< bytes
inline constexpr unsigned cifar10_classes = 10;

/// Reads the records of one or more files (plain or gzipped) into one array. Throws Error with the file, what
/// was expected and what was found if a file is not a whole number of records, has none, or has a label above
/// 9.
LabelledImages read_cifar10(std::span<const std::filesystem::path> files);

}  // namespace onward
