#include "onward/io/vector_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "io/gzip.hpp"
#include "io/npy_bytes.hpp"
#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace onward {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::npy;

class VectorFile : public testing::Scratch {};

TEST_F(VectorFile, WhatUnfoldsBeyondUseIsNotRead) {
  // 100 MB of blanks in 100 kB.
  put("bomb.json", testing::gzip("[1," + std::string(100'000'000, ' ') + "2]"));
  EXPECT_THAT(error_of([&] { read_vector(path("bomb.json"), 1000); }),
              HasSubstr("bomb.json: its compressed data unfold to more than 129536 bytes"));
  put("some.json", testing::gzip("[1, 2, 3]"));
  EXPECT_THAT(read_vector(path("some.json"), 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(error_of([&] { read_vector(path("some.json"), 2); }), HasSubstr("more than 2 entries"));
  write_vector(path("some.npy"), std::vector<double>{1, 2, 3});
  EXPECT_THAT(read_vector(path("some.npy"), 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(error_of([&] { read_vector(path("some.npy"), 2); }), HasSubstr("more than 2 entries"));
}

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

TEST_F(VectorFile, ExplainsBadNpy) {
  const std::string doubles = bytes_of<double>({1.5, -2, 3});
  const auto error = [&](const std::string& bytes) {
    const auto file = put("a.npy", bytes);
    return error_of([&] { read_vector(file); });
  };
  EXPECT_THAT(error("[1, 2]"), HasSubstr("a.npy: not a valid .npy file: it does not begin as one"));
  EXPECT_THAT(error(npy("<f8", "(3, 1, 1)", doubles)), HasSubstr("shape (3, 1, 1) where a vector is needed"));
  EXPECT_THAT(error(npy("<f8", "(2, 2)", bytes_of<double>({1, 2, 3, 4}), 1, "True")),
              HasSubstr("shape (2, 2) where a vector is needed"));
  EXPECT_THAT(error(npy("<f8", "(3,)", bytes_of<double>({1, std::nan(""), 3}))),
              HasSubstr("a.npy: entry 1 (counted from 0) is nan"));
  EXPECT_THAT(error(npy("<f4", "(1,)", bytes_of<float>({std::numeric_limits<float>::infinity()}))),
              HasSubstr("entry 0 (counted from 0) is inf"));
}

TEST_F(VectorFile, ReadsAPipe) {
  const auto through_a_pipe = [&](const std::string& bytes) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(ends[1]);
    auto values = read_vector("/dev/fd/" + std::to_string(ends[0]));
    ::close(ends[0]);
    return values;
  };
  EXPECT_THAT(through_a_pipe("[1, 2.5]"), ElementsAre(1, 2.5));
  EXPECT_THAT(through_a_pipe(npy("<f8", "(2,)", bytes_of<double>({3, 4}))), ElementsAre(3, 4));
}

TEST_F(VectorFile, WritesOnlyWhatCanBeReadBack) {
  const std::vector<double> bad{1, std::nan("")};
  EXPECT_THAT(error_of([&] { write_vector(path("a.json"), bad); }),
              HasSubstr("entry 1 (counted from 0) is nan"));
  EXPECT_FALSE(std::filesystem::exists(path("a.json")));
  EXPECT_THAT(error_of([&] { write_vector("/dev/full", std::vector<double>{1}); }),
              HasSubstr("cannot write /dev/full: No space left on device"));
}

}  // namespace
}  // namespace onward
