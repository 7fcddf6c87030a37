// What memory is held, and sizes in words.

#include "onward/util/memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace onward {
namespace {

TEST(Memory, ThePeakIsThatSinceItWasForgotten) {
  constexpr std::size_t size = 64 << 20;
  const auto hold = [] {
    std::vector<char> block(size, 1);
    EXPECT_GE(resident_bytes(), static_cast<double>(size));
    return block.back();
  };
  forget_peak();
  const double before = resident_bytes();
  EXPECT_LT(peak_resident_bytes(), before + size / 2.0);
  EXPECT_EQ(hold(), 1);
  EXPECT_GT(peak_resident_bytes(), before + size / 2.0);
  EXPECT_GT(machine_bytes(), peak_resident_bytes());
}

TEST(Memory, SizesInWords) {
  EXPECT_EQ(shown_bytes(50e3), "0.05 MB");
  EXPECT_EQ(shown_bytes(12.34e6), "12.3 MB");
  EXPECT_EQ(shown_bytes(999.4e6), "999 MB");
  EXPECT_EQ(shown_bytes(999.6e6), "1 GB");
  EXPECT_EQ(shown_bytes(1.5e9), "1.5 GB");
  EXPECT_EQ(shown_bytes(1234e9), "1234 GB");
}

}  // namespace
}  // namespace onward
