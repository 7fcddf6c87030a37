// .safetensors files: as others write them, and as nobody should.

#include "onward/io/safetensors.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "io/gzip.hpp"
#include "io/npy_bytes.hpp"
#include "io/scratch.hpp"
#include "onward/random/stream.hpp"

namespace onward {
namespace {

using ::testing::AllOf;
using testing::bytes_of;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

std::string safetensors(const std::string& header, const std::string& data) {
  return bytes_of<std::uint64_t>({header.size()}) + header + data;
}

class Safetensors : public testing::Scratch {
 protected:
  std::string error(const std::string& bytes) const {
    const auto file = put("a.safetensors", bytes);
    const std::string what = error_of([&] { SafeTensors::read(file); });
    EXPECT_THAT(what, StartsWith(file.string()));
    return what;
  }
  std::string header_error(const std::string& header, std::size_t bytes = 0) const {
    return error(safetensors(header, std::string(bytes, '\0')));
  }
};

TEST_F(Safetensors, ReadsEveryKindOfFloat) {
  const std::string header = R"({"__metadata__": {"format": "pt"},
      "b": {"dtype": "F64", "shape": [1, 2], "data_offsets": [12, 28]},
      "a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]},
      "half": {"dtype": "F16", "shape": [2, 4], "data_offsets": [28, 44]},
      "brain": {"dtype": "BF16", "shape": [3], "data_offsets": [44, 50]},
      "count": {"dtype": "I64", "shape": [], "data_offsets": [50, 58]},
      "none": {"dtype": "F32", "shape": [0, 5], "data_offsets": [58, 58]}}   )";
  // 1, -2, the largest, the smallest normal, the smallest of all, -0, infinity, NaN.
  const std::string half =
      bytes_of<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000, 0x7c00, 0x7e00});
  const std::string brain = bytes_of<std::uint16_t>({0x3f80, 0xc020, 0x7f80});  // 1, -2.5, infinity
  const std::string bytes =
      safetensors(header, bytes_of<float>({1.5f, -2, 3}) + bytes_of<double>({0.1, 1e300}) + half + brain +
                              bytes_of<std::int64_t>({7}));
  for (const auto& stored : {bytes, testing::gzip(bytes)}) {
    const auto file = SafeTensors::read(put("a.safetensors", stored));
    ASSERT_EQ(file.tensors().size(), 6u);
    EXPECT_EQ(file.tensors()[0].name, "a");
    EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "pt")));
    const auto values = [&](const char* name) { return file.values(*file.find(name)); };
    EXPECT_THAT(values("a"), ElementsAre(1.5, -2, 3));
    EXPECT_THAT(values("b"), ElementsAre(0.1, 1e300));
    EXPECT_THAT(file.find("b")->shape, ElementsAre(1, 2));
    const auto halves = values("half");
    EXPECT_EQ(std::vector<double>(halves.begin(), halves.begin() + 5),
              (std::vector<double>{1, -2, 65504, std::ldexp(1, -14), std::ldexp(1, -24)}));
    EXPECT_TRUE(halves[5] == 0 && std::signbit(halves[5]));
    EXPECT_EQ(halves[6], HUGE_VAL);
    EXPECT_TRUE(std::isnan(halves[7]));
    EXPECT_THAT(values("brain"), ElementsAre(1, -2.5, HUGE_VAL));
    EXPECT_THAT(values("none"), IsEmpty());
    EXPECT_EQ(file.find("count")->size(), 1u);
    EXPECT_THAT(error_of([&] { values("count"); }), AllOf(HasSubstr("'count' holds I64"), HasSubstr("F32")));
    EXPECT_EQ(file.find("c"), nullptr);
  }
}

TEST_F(Safetensors, ComesBackAsItWasWritten) {
  const std::vector<float> a{1, -2.5f, 3, std::numeric_limits<float>::denorm_min(), 5, 6}, b{7};
  const std::vector<NamedFloats> tensors{{"3.weight", {2, 3}, a}, {"3.bias", {1}, b}, {"none", {0}, {}}};
  write_safetensors(path("a.safetensors"), tensors, {{"format", "pt"}});
  const auto file = SafeTensors::read(path("a.safetensors"));
  ASSERT_EQ(file.tensors().size(), 3u);
  for (const auto& tensor : tensors) {
    const SafeTensor* found = file.find(tensor.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->dtype, "F32");
    EXPECT_EQ(file.values(*found), std::vector<double>(tensor.values.begin(), tensor.values.end()));
  }
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "pt")));
  // The numbers begin at a multiple of 8 bytes.
  EXPECT_EQ((get(path("a.safetensors")).size() - 28) % 8, 0u);
  write_safetensors(path("empty.safetensors"), {});
  EXPECT_THAT(SafeTensors::read(path("empty.safetensors")).tensors(), IsEmpty());
  EXPECT_THAT(error_of([&] {
                write_safetensors(path("b"), std::vector<NamedFloats>{{"a", {2}, b}});
              }),
              HasSubstr("'a' has 1 entries"));
  EXPECT_THAT(error_of([&] {
                write_safetensors(path("b"), std::vector<NamedFloats>{{"a", {1}, b}, {"a", {1}, b}});
              }),
              HasSubstr("two tensors would be called 'a'"));
  EXPECT_FALSE(std::filesystem::exists(path("b")));
}

TEST_F(Safetensors, LiesAreCaught) {
  EXPECT_THAT(error(""), HasSubstr("ends within the length of its header"));
  EXPECT_THAT(error(std::string(8, '\xff')), HasSubstr("at most 100000000 are read"));
  EXPECT_THAT(error(bytes_of<std::uint64_t>({99'000'000}) + "{}"),
              HasSubstr("has 99000000 bytes and 2 follow"));
  EXPECT_THAT(header_error("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(header_error("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(header_error(""), HasSubstr("not a JSON object"));
  EXPECT_THAT(header_error(std::string(100'000, '[')), HasSubstr("nested 100000 deep"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "F32", "data_offsets": [0, 4], "shape": )" +
                           std::string(100'000, '[') + std::string(100'000, ']') + "}}"),
              HasSubstr("nested 100002 deep"));
  EXPECT_THAT(header_error(R"({"a": 3})"), HasSubstr("'a' is no object"));
  EXPECT_THAT(header_error(R"({"a": {"shape": [1], "data_offsets": [0, 4]}})"), HasSubstr("no \"dtype\""));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "F31", "shape": [1], "data_offsets": [0, 4]}})"),
              HasSubstr("unknown dtype 'F31'"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "F32", "data_offsets": [0, 4]}})"),
              HasSubstr("no list \"shape\""));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})"),
              HasSubstr("has the entry -1"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})"),
              HasSubstr("data_offsets [4, 0]"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})"),
              HasSubstr("data_offsets [0]"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", 4),
              HasSubstr("'a' of [2] F32 entries takes 8 bytes, but its offsets have 4"));
  EXPECT_THAT(
      header_error(R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}})"),
      HasSubstr("too many"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
                               "b": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}})",
                           3),
              HasSubstr("'b' begins at byte 1, where 2 was expected"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}})", 3),
              HasSubstr("'a' begins at byte 1, where 0 was expected"));
  const std::string four = R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})";
  EXPECT_THAT(header_error(four, 3), HasSubstr("promises 4 bytes of tensors and 3 bytes follow"));
  EXPECT_THAT(header_error(four, 5), HasSubstr("promises 4 bytes of tensors and 5 bytes follow"));
  EXPECT_THAT(
      header_error(R"({"a": {"dtype": "U8", "shape": [1000000000000], "data_offsets": [0, 1000000000000]}})"),
      HasSubstr("promises 1000000000000 bytes"));
  EXPECT_THAT(header_error(R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
                               "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})",
                           1),
              HasSubstr("'a' twice"));
  EXPECT_THAT(header_error(R"({"__metadata__": 3})"), HasSubstr("__metadata__ is no object"));
  EXPECT_THAT(header_error(R"({"__metadata__": {"a": 3}})"), HasSubstr("'a' of __metadata__ is no string"));
  EXPECT_THAT(error_of([&] { SafeTensors::read(path("none")); }), HasSubstr("none"));
  EXPECT_THAT(error_of([&] { SafeTensors::read(path("")); }), HasSubstr("directory"));
}

/// Whatever is done to a file, it is read as it is or refused by an Error: never a crash, never more memory
/// than the file can fill.
TEST_F(Safetensors, DamageIsSurvived) {
  const std::vector<float> a(6, 1.5f), b(2, -1);
  write_safetensors(path("a"), std::vector<NamedFloats>{{"0.weight", {2, 3}, a}, {"0.bias", {2}, b}},
                    {{"format", "pt"}});
  const std::string whole = get(path("a"));
  const auto survives = [&](const std::string& bytes) {
    try {
      const auto file = SafeTensors::read(put("b", bytes));
      for (const auto& tensor : file.tensors())
        if (tensor.dtype.starts_with("F") && !tensor.dtype.starts_with("F8")) file.values(tensor);
      return true;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("b"));
      return false;
    }
  };
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(survives(whole.substr(0, size))) << size << " of " << whole.size() << " bytes";
  EXPECT_FALSE(survives(whole + "x"));
  const Stream stream(1, 0);
  int read = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    std::vector<double> u(6);
    stream.uniforms(round, Purpose::shuffle, u);
    for (std::size_t i = 0; i + 1 < u.size(); i += 2)
      bytes[static_cast<std::size_t>(u[i] * static_cast<double>(bytes.size()))] =
          static_cast<char>(static_cast<int>(u[i + 1] * 256));
    read += survives(bytes) ? 1 : 0;
  }
  // Three changed bytes seldom miss the header, but sometimes they do.
  EXPECT_GT(read, 0);
  EXPECT_LT(read, 1500);
}

}  // namespace
}  // namespace onward
