#include "onward/io/idx.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/gzip.hpp"
#include "io/scratch.hpp"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using testing::gzip;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The big-endian words of a header.
std::string words(std::initializer_list<unsigned> values) {
  std::string out;
  for (const unsigned value : values)
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xff);
  return out;
}

const std::string images = words({0x803, 2, 2, 3}) + std::string("\0\1\2\3\4\5\6\7\x8\x9\xfe\xff", 12);
const std::string labels = words({0x801, 2}) + "\7\3";

class Idx : public testing::Scratch {
 protected:
  std::string error(const std::string& bytes) const {
    const auto file = put("a-ubyte", bytes);
    return error_of([&] { read_idx(file); });
  }
};

TEST_F(Idx, ReadsPlainAndGzipped) {
  for (const auto& bytes : {images, gzip(images)}) {
    const IdxArray array = read_idx(put("a-ubyte", bytes));
    EXPECT_THAT(array.shape, ElementsAre(2, 2, 3));
    EXPECT_THAT(array.data, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 254, 255));
  }
  EXPECT_THAT(read_idx(put("a-ubyte", words({0x801, 0}))).data, IsEmpty());
}

TEST_F(Idx, ReadsImagesWithTheirLabels) {
  const auto read = read_idx_images(put("images.gz", gzip(images)), put("labels", labels));
  EXPECT_EQ(read.count(), 2u);
  EXPECT_EQ(read.channels, 1u);
  EXPECT_EQ(read.height, 2u);
  EXPECT_EQ(read.width, 3u);
  EXPECT_EQ(read.pixels_each(), 6u);
  EXPECT_EQ(read.pixels.size(), 12u);
  EXPECT_THAT(read.labels, ElementsAre(7, 3));
}

TEST_F(Idx, FilesThatDoNotBelongTogether) {
  const auto of_images = put("images", images), of_labels = put("labels", labels);
  EXPECT_THAT(error_of([&] { read_idx_images(of_labels, of_images); }),
              AllOf(HasSubstr("images: labels have 1 dimensions, this file has 3 (2 x 2 x 3)"),
                    HasSubstr("exchanged")));
  EXPECT_THAT(error_of([&] { read_idx_images(of_labels, of_labels); }),
              HasSubstr("labels: images have 3 dimensions, this file has 1 (2)"));
  const auto more = put("more", words({0x801, 3}) + "abc");
  EXPECT_THAT(error_of([&] { read_idx_images(of_images, more); }),
              AllOf(HasSubstr("images has 2 images"), HasSubstr("more has 3 labels")));
}

TEST_F(Idx, WrongMagic) {
  EXPECT_THAT(error("PK\3\4 and so on"), AllOf(HasSubstr("a-ubyte: not a valid idx file"),
                                               HasSubstr("begins with 504b0304, expected 00000801")));
  EXPECT_THAT(error(words({0xd03, 1, 1, 1}) + "abcd"), HasSubstr("begins with 00000d03"));  // floats
  EXPECT_THAT(error(words({0x800})), HasSubstr("begins with 00000800"));
  EXPECT_THAT(error(words({0x8ff})), HasSubstr("begins with 000008ff"));
}

TEST_F(Idx, Truncated) {
  for (std::size_t size = 0; size < images.size(); ++size)
    EXPECT_THAT(error(images.substr(0, size)), HasSubstr("a-ubyte: not a valid idx file")) << size;
  EXPECT_THAT(error(""), HasSubstr("it ends within its header: 0 bytes of 4"));
  EXPECT_THAT(error(images.substr(0, 10)), HasSubstr("it ends within its header: 2 bytes of 4"));
  EXPECT_THAT(error(images.substr(0, 20)),
              HasSubstr("its header promises 2 x 2 x 3 bytes and 4 bytes follow"));
  const std::string small = gzip(images);
  for (std::size_t size = 0; size < small.size(); ++size)
    EXPECT_THAT(error(small.substr(0, size)), HasSubstr("not a valid idx file")) << size;
  EXPECT_THAT(error(small.substr(0, small.size() - 9)), HasSubstr("it ends within its compressed data"));
}

TEST_F(Idx, LyingHeader) {
  EXPECT_THAT(error(images + "x"), HasSubstr("promises 2 x 2 x 3 bytes and 13 bytes follow"));
  EXPECT_THAT(error(gzip(images + "x")), HasSubstr("promises 2 x 2 x 3 bytes and more than 12 bytes follow"));
  EXPECT_THAT(error(gzip(words({0x803, 2, 2, 4}) + images.substr(16))),
              HasSubstr("promises 2 x 2 x 4 bytes and 12 bytes follow"));
  // Sizes that no memory could hold are refused before any is asked for.
  const unsigned huge = 0xffffffff;
  for (const auto& header : {words({0x802, huge, huge}), words({0x804, huge, huge, huge, huge}),
                             words({0x804, huge, huge, huge, 0})}) {
    EXPECT_THAT(error(header + "abc"),
                AllOf(HasSubstr("promises 4294967295 x 4294967295"), HasSubstr("a-ubyte")));
    EXPECT_THAT(error(gzip(header + "abc")), HasSubstr("promises 4294967295 x 4294967295"));
  }
  EXPECT_THAT(error(gzip(words({0x801, 1u << 30}))), HasSubstr("compressed bytes can hold"));
}

TEST_F(Idx, DamagedCompression) {
  std::string small = gzip(images);
  small[small.size() - 7] ^= 1;
  EXPECT_THAT(error(small), HasSubstr("compressed data are damaged"));
}

TEST_F(Idx, NotAFile) {
  EXPECT_THAT(error_of([&] { read_idx(path("none")); }), HasSubstr("none: No such file"));
  EXPECT_THAT(error_of([&] { read_idx(path("")); }), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace onward
