#include "onward/io/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "io/gzip.hpp"
#include "io/npy_bytes.hpp"
#include "io/scratch.hpp"

namespace onward {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::error_of;
using testing::gzip;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::npy;

class Npy : public testing::Scratch {
 protected:
  std::string error(const std::string& bytes) const {
    const auto file = put("a.npy", bytes);
    return error_of([&] { read_npy(file); });
  }

  const std::string doubles_ = bytes_of<double>({1.5, -2, 3});
};

TEST_F(Npy, ReadsArraysOfMoreDimensions) {
  const NpyArray image =
      read_npy(put("a.npy", npy("|u1", "(2, 1, 3)", bytes_of<std::uint8_t>({0, 1, 2, 3, 4, 255}))));
  EXPECT_THAT(image.shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(image.size(), 6u);
  EXPECT_THAT(image.as<std::uint8_t>(), ElementsAre(0, 1, 2, 3, 4, 255));
  EXPECT_THAT(error_of([&] { image.as<float>(); }), HasSubstr("array of '|u1' where '<f4' is needed"));
  EXPECT_THAT(error_of([&] { image.rows(); }), HasSubstr("shape (2, 1, 3) where a matrix is needed"));
  const NpyArray scalar = read_npy(put("b.npy", npy("<f8", "()", bytes_of<double>({4}))));
  EXPECT_EQ(scalar.size(), 1u);
  EXPECT_THAT(scalar.as<double>(), ElementsAre(4));
  const NpyArray nothing = read_npy(put("c.npy", npy("<f8", "(0, 3)", "")));
  EXPECT_EQ(nothing.size(), 0u);
  EXPECT_EQ(nothing.columns(), 3u);
  EXPECT_THAT(nothing.as<double>(), IsEmpty());
}

/// Every dtype stays what it is, and is visited as that.
template <class T>
void stays(const std::filesystem::path& file, const std::string& descr, T low, T high) {
  SCOPED_TRACE(descr);
  NpyArray array;
  array.shape = {2, 1};
  array.dtype = descr;
  const std::string bytes = bytes_of<T>({low, high});
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  array.data.assign(first, first + bytes.size());
  write_npy(file, array);
  const NpyArray back = read_npy(file);
  EXPECT_EQ(back.shape, array.shape);
  EXPECT_EQ(back.dtype, descr);
  EXPECT_EQ(back.data, array.data);
  int visits = 0;
  back.visit([&](auto values) {
    using Element = typename decltype(values)::value_type;
    static_assert(std::is_arithmetic_v<Element>);
    ++visits;
    if constexpr (std::is_same_v<Element, T>) {
      EXPECT_THAT(values, ElementsAre(low, high));
    } else {
      ADD_FAILURE() << "visited as another type";
    }
  });
  EXPECT_EQ(visits, 1);
  EXPECT_THAT(back.to_doubles(), ElementsAre(static_cast<double>(low), static_cast<double>(high)));
  NpyReader reader(file);
  std::vector<float> floats(2);
  reader.next(std::span(floats));
  reader.finish();
  EXPECT_THAT(floats, ElementsAre(static_cast<float>(low), static_cast<float>(high)));
}

TEST_F(Npy, KeepsEveryType) {
  const auto whole = [&]<class T>(const std::string& descr, T) {
    stays<T>(path("a.npy"), descr, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  };
  whole("|i1", std::int8_t{});
  whole("<i2", std::int16_t{});
  whole("<i4", std::int32_t{});
  whole("<i8", std::int64_t{});
  whole("|u1", std::uint8_t{});
  whole("<u2", std::uint16_t{});
  whole("<u4", std::uint32_t{});
  whole("<u8", std::uint64_t{});
  stays<float>(path("a.npy"), "<f4", -0.5f, 3e38f);
  stays<double>(path("a.npy"), "<f8", -0.1, 2e30);
  stays<std::uint8_t>(path("a.npy"), "|b1", 0, 1);
}

TEST_F(Npy, EitherOrder) {
  const std::string rows = bytes_of<float>({1, 2, 3, 4, 5, 6}), columns = bytes_of<float>({1, 4, 2, 5, 3, 6});
  for (const auto& bytes : {npy("<f4", "(2, 3)", rows), npy("<f4", "(2, 3)", columns, 1, "True")}) {
    const NpyArray array = read_npy(put("a.npy", bytes));
    EXPECT_EQ(array.rows(), 2u);
    EXPECT_EQ(array.columns(), 3u);
    const auto values = array.as<float>();
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        EXPECT_EQ(values[i * array.row_stride() + j * array.column_stride()],
                  static_cast<float>(3 * i + j + 1));
    write_npy(path("b.npy"), array);
    EXPECT_EQ(read_npy(path("b.npy")).fortran_order, array.fortran_order);
    EXPECT_EQ(read_npy(path("b.npy")).data, array.data);
  }
  const NpyArray column = read_npy(put("a.npy", npy("<f8", "(3,)", doubles_)));
  EXPECT_EQ(column.rows(), 3u);
  EXPECT_EQ(column.columns(), 1u);
}

TEST_F(Npy, AlignsAsNumPy) {
  write_npy(path("a.npy"), read_npy(put("b.npy", npy("<f8", "(3,)", doubles_))));
  EXPECT_EQ((get(path("a.npy")).size() - doubles_.size()) % 64, 0u);
}

TEST_F(Npy, ReadsPieceByPiece) {
  std::vector<std::int16_t> values(10'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int16_t>(3 * i);
  const auto file = put("a.npy", npy("<i2", "(100, 100)", bytes_of(values)));
  NpyReader reader(file);
  std::vector<double> all(values.size());
  reader.next(std::span(all).first(7));
  reader.next(std::span(all).subspan(7));
  reader.finish();
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], values[i]);
  EXPECT_THAT(error_of([&] { reader.next(std::span(all).first(1)); }), HasSubstr("ends within its elements"));
}

TEST_F(Npy, ReadsGzip) {
  const std::string whole = npy("<f8", "(3,)", doubles_);
  EXPECT_THAT(read_npy(put("a.npy.gz", gzip(whole))).as<double>(), ElementsAre(1.5, -2, 3));
  EXPECT_THAT(error(gzip(npy("<f8", "(4,)", doubles_))),
              HasSubstr("promises (4) elements of 8 bytes and 24 bytes follow"));
  EXPECT_THAT(error(gzip(npy("<f8", "(2,)", doubles_))), HasSubstr("and more than 16 bytes follow"));
  EXPECT_THAT(error(gzip(npy("<f8", "(1000000, 1000000)", doubles_))),
              HasSubstr("compressed bytes can hold"));
  EXPECT_THAT(error(gzip(whole) + "x"), HasSubstr("something else follows its compressed data"));
  EXPECT_THAT(error(gzip(whole) + "\x1fnot"), HasSubstr("compressed data are damaged"));
  const std::string in_two = gzip(whole.substr(0, 90)) + gzip(whole.substr(90));
  EXPECT_THAT(read_npy(put("a.npy.gz", in_two)).as<double>(), ElementsAre(1.5, -2, 3));
  const std::string small = gzip(whole);
  for (std::size_t size = 0; size < small.size(); ++size)
    EXPECT_THAT(error(small.substr(0, size)), HasSubstr("not a valid .npy file")) << size;
  std::string flipped = small;
  flipped[flipped.size() - 6] ^= 1;  // in the check sum
  EXPECT_THAT(error(flipped), HasSubstr("compressed data are damaged (incorrect data check)"));
}

TEST_F(Npy, ExplainsBadFiles) {
  EXPECT_THAT(error("[1, 2]"), HasSubstr("a.npy: not a valid .npy file: it does not begin as one"));
  EXPECT_THAT(error(npy("<f8", "(4,)", doubles_)),
              HasSubstr("promises (4) elements of 8 bytes and 24 bytes follow"));
  EXPECT_THAT(error(npy("<f8", "(2,)", doubles_)), HasSubstr("promises (2) elements"));
  EXPECT_THAT(error(npy("<f8", "(4294967296, 4294967296)", doubles_)), HasSubstr("more than any file has"));
  EXPECT_THAT(error(npy("<f8", "(4611686018427387904,)", doubles_)), HasSubstr("more than any file has"));
  EXPECT_THAT(error(npy("<f8", "(99999999999999999999999,)", doubles_)), HasSubstr("is not a shape"));
  EXPECT_THAT(error(npy("<f8", "(-3,)", doubles_)), HasSubstr("is not a shape"));
  EXPECT_THAT(error(npy("<f8", "3", doubles_)), HasSubstr("shape is not a tuple"));
  EXPECT_THAT(error(npy("<f8", "(3,)", doubles_, 1, "perhaps")), HasSubstr("neither True nor False"));
  for (const std::string type : {">f8", "<f2", "<c16", "|O"}) {
    EXPECT_THAT(error(npy(type, "(3,)", doubles_)), HasSubstr("type '" + type + "'"));
    EXPECT_THAT(error(npy(type, "(3,)", doubles_)), HasSubstr("astype('<f8')"));
  }
  EXPECT_THAT(error(npy("<f8", "(3,)", doubles_, 4)), HasSubstr("version is 4"));
  std::string long_header = npy("<f8", "(3,)", doubles_, 2);
  long_header[11] = '\x7f';
  EXPECT_THAT(error(long_header), HasSubstr("its header has 21307"));
  const std::string whole = npy("<f8", "(3,)", doubles_);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error(whole.substr(0, size)), HasSubstr("not a valid .npy file")) << size;
  EXPECT_THAT(error_of([&] { read_npy(path("")); }), HasSubstr("Is a directory"));
}

TEST_F(Npy, NoticesAFileReplacedWhileReading) {
  const std::string whole = npy("<f8", "(3,)", doubles_);
  const auto file = put("a.npy", whole), other = put("b.npy", whole);
  std::vector<double> values(3);
  const auto read_while = [&](auto change) {
    NpyReader reader(file);
    reader.next(std::span(values));
    change();
    return error_of([&] { reader.finish(); });
  };
  const auto changed = HasSubstr("a.npy changed or was replaced while it was being read");
  EXPECT_THAT(read_while([&] { std::filesystem::rename(other, file); }), changed);
  EXPECT_THAT(read_while([&] { std::filesystem::remove(file); }), changed);
  put("a.npy", whole);
  EXPECT_THAT(read_while([&] { std::ofstream(file, std::ios::app) << "more"; }), changed);
  put("a.npy", whole);
  EXPECT_THAT(read_while([&] {
                std::filesystem::last_write_time(
                    file, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
              }),
              changed);
  // A file cut while it is read: that it ends early is not the news.
  NpyReader reader(put("a.npy", npy("<f8", "(100000,)", std::string(800'000, 'x'))));
  std::filesystem::resize_file(file, 100);
  std::vector<double> many(100'000);
  EXPECT_THAT(error_of([&] { reader.next(std::span(many)); }), changed);
}

TEST_F(Npy, WritesOnlyWhatCanBeReadBack) {
  NpyArray array{{{3}, "<f8"}, std::vector<std::byte>(16)};
  EXPECT_THAT(error_of([&] { write_npy(path("a.npy"), array); }),
              HasSubstr("16 bytes of data do not fill the shape (3)"));
  EXPECT_FALSE(std::filesystem::exists(path("a.npy")));
}

}  // namespace
}  // namespace onward
