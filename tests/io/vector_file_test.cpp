#include "onward/io/vector_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace onward {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VectorFile : public testing::Scratch {
 protected:
  template <class T>
  static std::string bytes_of(std::vector<T> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }

  /// A .npy file as NumPy writes it.
  static std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                         int version = 1, const std::string& fortran = "False") {
    const std::string header =
        "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }   \n";
    std::string file = "\x93NUMPY";
    file += static_cast<char>(version);
    file += '\0';
    file += static_cast<char>(header.size());
    file += '\0';
    if (version > 1) file += std::string(2, '\0');
    return file + header + data;
  }
};

TEST_F(VectorFile, ComesBackToTheBit) {
  std::mt19937_64 generator(3);
  std::vector<double> values{
      0.0, -0.0, 1e308, 5e-324, 0.1, -1e-310, 9007199254740993.0, 123456789012345680000.0};
  while (values.size() < 2000) {
    const auto value = std::bit_cast<double>(generator());
    if (std::isfinite(value)) values.push_back(value);
  }
  for (const char* name : {"x.json", "x.npy"}) {
    write_vector(path(name), values);
    const auto back = read_vector(path(name));
    ASSERT_EQ(back.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(back[i]), std::bit_cast<std::uint64_t>(values[i]))
          << name << values[i];
    write_vector(path(name), {});
    EXPECT_THAT(read_vector(path(name)), IsEmpty());
  }
}

TEST_F(VectorFile, ReadsJson) {
  EXPECT_THAT(read_vector(put("a.json", " [1, -2.5,\n3e2, 18446744073709551615] ")),
              ElementsAre(1, -2.5, 300, 18446744073709551615.0));
}

TEST_F(VectorFile, ExplainsBadJson) {
  const auto error = [&](const std::string& text) {
    const auto file = put("a.json", text);
    return error_of([&] { read_vector(file); });
  };
  EXPECT_THAT(error("[1, NaN]"), HasSubstr("a.json: not a JSON array of numbers"));
  EXPECT_THAT(error("[1, NaN]"), HasSubstr("entry 1 (counted from 0) is NaN or infinite"));
  EXPECT_THAT(error("[1, 2, Infinity]"), HasSubstr("entry 2 (counted from 0) is NaN or infinite"));
  EXPECT_THAT(error("[-Infinity]"), HasSubstr("entry 0 (counted from 0) is NaN or infinite"));
  EXPECT_THAT(error("[1, null]"), HasSubstr("entry 1 (counted from 0) is null"));
  EXPECT_THAT(error("[\"a\"]"), HasSubstr("entry 0 (counted from 0) is a string"));
  EXPECT_THAT(error("[[1], [2]]"), HasSubstr("entry 0 (counted from 0) is an array"));
  EXPECT_THAT(error("{\"a\": 1}"), HasSubstr("it holds an object"));
  EXPECT_THAT(error("3"), HasSubstr("it holds a lone number"));
  EXPECT_THAT(error("[1, 2"), HasSubstr("parse error"));
  EXPECT_THAT(error("[1, 2] 3"), HasSubstr("parse error"));
  EXPECT_THAT(error("[1, 1e999]"), HasSubstr("1e999"));
  EXPECT_THAT(error(""), HasSubstr("a.json"));
  EXPECT_THAT(error_of([&] { read_vector(path("none.json")); }), HasSubstr("No such file"));
}

TEST_F(VectorFile, ReadsNpyOfEveryKind) {
  const std::string doubles = bytes_of<double>({1.5, -2, 3});
  for (int version : {1, 2, 3})
    EXPECT_THAT(read_vector(put("a.npy", npy("<f8", "(3,)", doubles, version))), ElementsAre(1.5, -2, 3));
  EXPECT_THAT(read_vector(put("a.npy", npy("<f8", "(1, 3)", doubles))), ElementsAre(1.5, -2, 3));
  EXPECT_THAT(read_vector(put("a.npy", npy("<f8", "(3, 1)", doubles, 1, "True"))), ElementsAre(1.5, -2, 3));
  EXPECT_THAT(read_vector(put("a.dat", npy("<f4", "(2,)", bytes_of<float>({0.5f, 8})))), ElementsAre(0.5, 8));
  EXPECT_THAT(read_vector(put("a.npy", npy("<i4", "(2,)", bytes_of<std::int32_t>({-7, 8})))),
              ElementsAre(-7, 8));
  EXPECT_THAT(read_vector(put("a.npy", npy("<i8", "(1,)", bytes_of<std::int64_t>({-1})))), ElementsAre(-1));
  EXPECT_THAT(read_vector(put("a.npy", npy("<i2", "(1,)", bytes_of<std::int16_t>({-300})))),
              ElementsAre(-300));
  EXPECT_THAT(read_vector(put("a.npy", npy("<u2", "(1,)", bytes_of<std::uint16_t>({65535})))),
              ElementsAre(65535));
  EXPECT_THAT(read_vector(put("a.npy", npy("|i1", "(1,)", bytes_of<std::int8_t>({-3})))), ElementsAre(-3));
  EXPECT_THAT(read_vector(put("a.npy", npy("|b1", "(2,)", bytes_of<std::uint8_t>({0, 1})))),
              ElementsAre(0, 1));
}

TEST_F(VectorFile, ReadsArraysOfMoreDimensions) {
  const NpyArray image =
      read_npy(put("a.npy", npy("|u1", "(2, 1, 3)", bytes_of<std::uint8_t>({0, 1, 2, 3, 4, 255}))));
  EXPECT_THAT(image.shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(image.size(), 6u);
  EXPECT_THAT(image.as<std::uint8_t>(), ElementsAre(0, 1, 2, 3, 4, 255));
  EXPECT_THAT(error_of([&] { image.as<float>(); }), HasSubstr("array of '|u1' where '<f4' is needed"));
  const NpyArray scalar = read_npy(put("b.npy", npy("<f8", "()", bytes_of<double>({4}))));
  EXPECT_EQ(scalar.size(), 1u);
  EXPECT_THAT(scalar.as<double>(), ElementsAre(4));

  write_npy(path("c.npy"), image);
  const NpyArray back = read_npy(path("c.npy"));
  EXPECT_EQ(back.shape, image.shape);
  EXPECT_EQ(back.dtype, image.dtype);
  EXPECT_EQ(back.data, image.data);
  EXPECT_EQ((get(path("c.npy")).size() - 6) % 64, 0u);  // data aligned as NumPy aligns them
}

TEST_F(VectorFile, ExplainsBadNpy) {
  const std::string doubles = bytes_of<double>({1.5, -2, 3});
  const auto error = [&](const std::string& bytes) {
    const auto file = put("a.npy", bytes);
    return error_of([&] { read_vector(file); });
  };
  EXPECT_THAT(error("[1, 2]"), HasSubstr("a.npy: not a valid .npy file: it does not begin as one"));
  EXPECT_THAT(error(npy("<f8", "(4,)", doubles)),
              HasSubstr("promises (4) elements of 8 bytes and 24 bytes follow"));
  EXPECT_THAT(error(npy("<f8", "(2,)", doubles)), HasSubstr("promises (2) elements"));
  EXPECT_THAT(error(npy("<f8", "(4294967296, 4294967296)", doubles)), HasSubstr("promises"));
  EXPECT_THAT(error(npy("<f8", "(99999999999999999999999,)", doubles)), HasSubstr("is not a shape"));
  EXPECT_THAT(error(npy("<f8", "(-3,)", doubles)), HasSubstr("is not a shape"));
  EXPECT_THAT(error(npy("<f8", "3", doubles)), HasSubstr("shape is not a tuple"));
  EXPECT_THAT(error(npy(">f8", "(3,)", doubles)), HasSubstr("type '>f8'"));
  EXPECT_THAT(error(npy("<c16", "(3,)", doubles)), HasSubstr("astype('<f8')"));
  EXPECT_THAT(error(npy("<f8", "(3,)", doubles, 4)), HasSubstr("version is 4"));
  EXPECT_THAT(error(npy("<f8", "(3, 1, 1)", doubles)), HasSubstr("shape (3, 1, 1) where a vector is needed"));
  EXPECT_THAT(error(npy("<f8", "(2, 2)", bytes_of<double>({1, 2, 3, 4}), 1, "True")),
              HasSubstr("ascontiguousarray"));
  EXPECT_THAT(error(npy("<f8", "(3,)", bytes_of<double>({1, std::nan(""), 3}))),
              HasSubstr("a.npy: entry 1 (counted from 0) is nan"));
  EXPECT_THAT(error(npy("<f4", "(1,)", bytes_of<float>({std::numeric_limits<float>::infinity()}))),
              HasSubstr("entry 0 (counted from 0) is inf"));
  const std::string whole = npy("<f8", "(3,)", doubles);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error(whole.substr(0, size)), HasSubstr("not a valid .npy file")) << size;
}

TEST_F(VectorFile, WritesOnlyWhatCanBeReadBack) {
  const std::vector<double> bad{1, std::nan("")};
  EXPECT_THAT(error_of([&] { write_vector(path("a.json"), bad); }),
              HasSubstr("entry 1 (counted from 0) is nan"));
  EXPECT_FALSE(std::filesystem::exists(path("a.json")));
  EXPECT_THAT(error_of([&] {
                write_npy(path("a.npy"), {{3}, "<f8", std::vector<std::byte>(16)});
              }),
              HasSubstr("16 bytes of data do not fill the shape (3)"));
  EXPECT_THAT(error_of([&] { write_vector("/dev/full", std::vector<double>{1}); }),
              HasSubstr("cannot write /dev/full: No space left on device"));
}

}  // namespace
}  // namespace onward
