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
