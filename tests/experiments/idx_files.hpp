#pragma once
// Small stand-ins for MNIST: idx files whose images show their class.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onward/random/stream.hpp"

namespace onward::testing {

inline void put_big_endian(std::ofstream& out, std::uint32_t x) {
  for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(x >> shift & 0xff));
}

/// `count` images of side x side pixels: noise, and for class k a bright row k % side.
inline void write_images(const std::filesystem::path& folder, const std::string& set, std::size_t count,
                         std::size_t side, std::uint64_t seed) {
  std::filesystem::create_directories(folder);
  std::ofstream images(folder / (set + "-images-idx3-ubyte"), std::ios::binary);
  std::ofstream labels(folder / (set + "-labels-idx1-ubyte"), std::ios::binary);
  put_big_endian(images, 0x803);
  for (std::size_t n : {count, side, side}) put_big_endian(images, static_cast<std::uint32_t>(n));
  put_big_endian(labels, 0x801);
  put_big_endian(labels, static_cast<std::uint32_t>(count));
  std::vector<double> u(side * side + 1);
  for (std::size_t i = 0; i < count; ++i) {
    Stream(seed, 0).uniforms(i, Purpose::noise, u);
    const auto label = static_cast<std::size_t>(10 * u.back());
    labels.put(static_cast<char>(label));
    for (std::size_t j = 0; j < side * side; ++j) {
      const double ink = (j / side == label % side ? 0.4 : 0) + (label >= side && j % side == 0 ? 0.4 : 0);
      images.put(static_cast<char>(static_cast<int>(255 * (0.6 * u[j] + ink))));
    }
  }
}

inline void write_small_mnist(const std::filesystem::path& folder, std::size_t train = 400,
                              std::size_t test = 150) {
  write_images(folder, "train", train, 6, 1);
  write_images(folder, "t10k", test, 6, 2);
}

}  // namespace onward::testing
