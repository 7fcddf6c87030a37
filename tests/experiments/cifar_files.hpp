#pragma once
// Small stand-ins for CIFAR-10: its binary files, with images that show their class.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onward/random/stream.hpp"

namespace onward::testing {

/// `count` records: noise, and for class k a band of three bright rows from 3k on.
inline void write_cifar_file(const std::filesystem::path& file, std::size_t count, std::uint64_t seed) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  std::vector<double> u(3072);
  for (std::size_t i = 0; i < count; ++i) {
    Stream(seed, 0).uniforms(i, Purpose::noise, u);
    const std::size_t label = (i * 7 + seed) % 10;
    out.put(static_cast<char>(label));
    for (std::size_t j = 0; j < u.size(); ++j) {
      const double ink = j % 1024 / 32 / 3 == label ? 0.5 : 0;
      out.put(static_cast<char>(static_cast<int>(255 * (0.5 * u[j] + ink))));
    }
  }
}

inline void write_small_cifar(const std::filesystem::path& folder, std::size_t train = 300,
                              std::size_t test = 60) {
  write_cifar_file(folder / "data_batch_1.bin", train - train / 3, 1);
  write_cifar_file(folder / "data_batch_2.bin", train / 3, 2);
  write_cifar_file(folder / "test_batch.bin", test, 3);
}

}  // namespace onward::testing
