// The data sets' own shapes, with contents that the test makes: gzipped, as they would be large.

#include "onward/data/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/environment.hpp"
#include "io/gzip.hpp"
#include "io/scratch.hpp"

namespace onward {
namespace {

using ::testing::AllOf;
using testing::error_of;
using testing::gzip;
using ::testing::HasSubstr;

std::string words(std::initializer_list<unsigned> values) {
  std::string out;
  for (const unsigned value : values)
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xff);
  return out;
}

class Load : public testing::Scratch {
 protected:
  void put_images(const std::string& folder, const std::string& prefix, unsigned count, unsigned side,
                  char first_label) const {
    std::filesystem::create_directories(path(folder));
    std::string pixels(std::size_t{count} * side * side, '\0'), labels(count, '\1');
    pixels.back() = '\7';
    labels.front() = first_label;
    put(folder + "/" + prefix + "-images-idx3-ubyte.gz", gzip(words({0x803, count, side, side}) + pixels));
    put(folder + "/" + prefix + "-labels-idx1-ubyte.gz", gzip(words({0x801, count}) + labels));
  }
};

TEST_F(Load, Mnist) {
  put_images("mnist", "train", 60'000, 28, 9);
  put_images("mnist", "t10k", 10'000, 28, 8);
  const auto [train, test] = load_mnist(path(""));
  EXPECT_EQ(train.count(), 60'000u);
  EXPECT_EQ(train.pixels_each(), 784u);
  EXPECT_EQ(train.pixels.size(), 60'000u * 784u);
  EXPECT_EQ(train.pixels.back(), 7);
  EXPECT_EQ(train.labels.front(), 9);
  EXPECT_EQ(test.count(), 10'000u);
  EXPECT_EQ(test.labels.front(), 8);
  EXPECT_THAT(error_of([&] { load_fashion_mnist(path("")); }), HasSubstr("onward data get fashion-mnist"));
  std::filesystem::rename(path("mnist"), path("fashion-mnist"));
  EXPECT_EQ(load_fashion_mnist(path("")).train.count(), 60'000u);
}

TEST_F(Load, OtherImagesUnderItsName) {
  put_images("mnist", "train", 60'000, 28, 0);
  put_images("mnist", "t10k", 9'999, 28, 0);
  EXPECT_THAT(
      error_of([&] { load_mnist(path("")); }),
      AllOf(HasSubstr("t10k-images-idx3-ubyte.gz: expected 10000 images of 28 x 28, found 9999 of 28 x 28"),
            HasSubstr("onward data check mnist")));
  put_images("mnist", "t10k", 10'000, 28, 10);
  EXPECT_THAT(error_of([&] { load_mnist(path("")); }),
              HasSubstr("image 0 (counted from 0) has the label 10, expected 0 to 9"));
}

TEST_F(Load, CopiesInTheCacheAreChecked) {
  const testing::Variable cache("XDG_CACHE_HOME", path("").string());
  put_images("onward/mnist", "train", 60'000, 28, 0);
  put_images("onward/mnist", "t10k", 10'000, 28, 0);
  EXPECT_THAT(error_of([&] { load_mnist(); }),
              AllOf(HasSubstr("train-images-idx3-ubyte.gz: expected md5 6bbc9ace898e44ae57da46a324031adb"),
                    HasSubstr("onward data get mnist")));
}

TEST_F(Load, Cifar10) {
  std::filesystem::create_directories(path("cifar10"));
  const std::string record(3073, '\2');
  std::string batch;
  for (int i = 0; i < 10'000; ++i) batch += record;
  const std::string small = gzip(batch);
  for (int i = 1; i <= 5; ++i) put("cifar10/data_batch_" + std::to_string(i) + ".bin.gz", small);
  put("cifar10/test_batch.bin.gz", gzip(batch.substr(0, 3 * 3073)));
  EXPECT_THAT(error_of([&] { load_cifar10(path("")); }),
              HasSubstr("test_batch.bin.gz: expected 10000 images of 32 x 32, found 3 of 32 x 32"));
  put("cifar10/test_batch.bin.gz", small);
  const auto [train, test] = load_cifar10(path(""));
  EXPECT_EQ(train.count(), 50'000u);
  EXPECT_EQ(train.pixels.size(), 50'000u * 3072u);
  EXPECT_EQ(test.count(), 10'000u);
  EXPECT_EQ(test.channels, 3u);
}

}  // namespace
}  // namespace onward
