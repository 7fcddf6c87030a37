#include "onward/io/cifar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "io/gzip.hpp"
#include "io/scratch.hpp"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using testing::gzip;
using ::testing::HasSubstr;

std::string record(char label, char red, char green, char blue) {
  return label + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

class Cifar : public testing::Scratch {
 protected:
  LabelledImages read(const std::string& bytes) const {
    const std::vector files{put("a.bin", bytes)};
    return read_cifar10(files);
  }
  std::string error(const std::string& bytes) const {
    return error_of([&] { read(bytes); });
  }
};

TEST_F(Cifar, ReadsFilesInTurn) {
  std::string many;
  for (int i = 0; i < 300; ++i) many += record(static_cast<char>(i % 10), 1, 2, 3);
  const std::vector files{put("a.bin", record(9, 10, 20, 30) + record(0, 11, 21, 31)), put("b.bin", many),
                          put("c.bin.gz", gzip(record(4, 12, 22, 32)))};
  const LabelledImages images = read_cifar10(files);
  EXPECT_EQ(images.count(), 303u);
  EXPECT_EQ(images.pixels_each(), 3072u);
  ASSERT_EQ(images.pixels.size(), 303u * 3072u);
  EXPECT_EQ(images.labels[0], 9);
  EXPECT_EQ(images.labels[2 + 257], 7);
  EXPECT_EQ(images.labels[302], 4);
  const auto corners = [&](std::size_t image) {
    const auto* first = images.pixels.data() + image * 3072;
    return std::vector<int>{first[0], first[1023], first[1024], first[2047], first[2048], first[3071]};
  };
  EXPECT_THAT(corners(0), ElementsAre(10, 10, 20, 20, 30, 30));
  EXPECT_THAT(corners(1), ElementsAre(11, 11, 21, 21, 31, 31));
  EXPECT_THAT(corners(301), ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(corners(302), ElementsAre(12, 12, 22, 22, 32, 32));
}

TEST_F(Cifar, BadFiles) {
  const std::string two = record(1, 2, 3, 4) + record(5, 6, 7, 8);
  EXPECT_THAT(error(two.substr(0, 4000)),
              AllOf(HasSubstr("a.bin: not a valid CIFAR-10 file"),
                    HasSubstr("expected records of 3073 bytes, found 1 and 927 bytes more")));
  EXPECT_THAT(error(two + "x"), HasSubstr("found 2 and 1 bytes more"));
  EXPECT_THAT(error(gzip(two + "x")), HasSubstr("found 2 and 1 bytes more"));
  EXPECT_THAT(error(""), HasSubstr("it is empty"));
  EXPECT_THAT(error(two + record(10, 0, 0, 0)),
              HasSubstr("record 2 (counted from 0) has the label 10, expected 0 to 9"));
  EXPECT_THAT(error(record('\xff', 0, 0, 0)), HasSubstr("has the label 255"));
  const std::vector files{path("none.bin")};
  EXPECT_THAT(error_of([&] { read_cifar10(files); }), HasSubstr("none.bin: No such file"));
}

}  // namespace
}  // namespace onward
