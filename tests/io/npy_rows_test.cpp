// .npy files that grow: whole after every row, also when the disk is full.

#include "onward/io/npy_rows.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "io/scratch.hpp"
#include "onward/io/npy.hpp"

namespace onward {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class NpyRows : public testing::Scratch {};

TEST_F(NpyRows, AreReadableAfterEveryRow) {
  NpyRowWriter writer(path("a.npy"), 3);
  EXPECT_THAT(read_npy(path("a.npy")).shape, ElementsAre(0, 3));
  for (std::size_t i = 1; i <= 4; ++i) {
    const auto x = static_cast<double>(i);
    writer.append(std::vector<double>{x, x / 2, -x});
    EXPECT_EQ(writer.rows(), i);
    const NpyArray array = read_npy(path("a.npy"));
    ASSERT_THAT(array.shape, ElementsAre(i, 3));
    EXPECT_EQ(array.as<float>()[3 * (i - 1) + 1], static_cast<float>(x / 2));
    EXPECT_EQ(array.as<float>()[0], 1);
  }
  NpyRowWriter moved(std::move(writer));
  moved.append(std::vector<double>{7, 8, 9});
  EXPECT_THAT(read_npy(path("a.npy")).shape, ElementsAre(5, 3));
}

TEST_F(NpyRows, WrongRequests) {
  NpyRowWriter writer(path("a.npy"), 3);
  EXPECT_THAT(error_of([&] { writer.append(std::vector<double>{1}); }), HasSubstr("1 entries"));
  EXPECT_THAT(error_of([&] { NpyRowWriter(path("a.npy"), 3); }), HasSubstr("a.npy"));
  EXPECT_THAT(error_of([&] { NpyRowWriter(path("none/a.npy"), 3); }), HasSubstr("Check the name"));
}

TEST_F(NpyRows, GoOnWhereARunWasKilled) {
  const std::vector<double> one{1, 2}, two{3, 4};
  {
    NpyRowWriter writer(path("a.npy"), 2);
    writer.append(one);
    writer.append(two);
  }
  const std::string whole = get(path("a.npy"));
  // Killed after a row, before the header that counts it; or after the header of a resumed run, before the
  // rows behind it were cut off.
  for (const std::string& bytes : {whole + std::string(8, 'x'), whole + "xxx", whole}) {
    put("a.npy", bytes);
    NpyRowWriter::resume(path("a.npy"), 2, 1).append(two);
    EXPECT_EQ(get(path("a.npy")), whole);
  }
  const auto refused = [&](const std::string& bytes, std::size_t columns, std::size_t rows) {
    put("a.npy", bytes);
    EXPECT_THAT(error_of([&] { NpyRowWriter::resume(path("a.npy"), columns, rows); }), HasSubstr("a.npy"));
    EXPECT_EQ(get(path("a.npy")), bytes);
  };
  refused(whole, 3, 1);
  refused(whole, 2, 3);
  refused(whole.substr(0, whole.size() - 1), 2, 2);
  refused(whole.substr(0, 40), 2, 0);
  refused("", 2, 0);
  refused(std::string(200, 'x'), 2, 0);
}

TEST_F(NpyRows, AFullDiskLeavesTheRowsBefore) {
  NpyRowWriter writer(path("a.npy"), 1000);
  const std::vector<double> row(1000, 1.5);
  writer.append(row);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{5000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string what = error_of([&] { writer.append(row); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(what, HasSubstr("limit on file sizes"));
  EXPECT_THAT(read_npy(path("a.npy")).shape, ElementsAre(1, 1000));
}

}  // namespace
}  // namespace onward
