// Tables from CSV files: types, oddities of the format, and what is said of files that are wrong.

#include "onward/table/read_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <random>

#include "io/scratch.hpp"

namespace onward {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class ReadTable : public testing::Scratch {
 protected:
  Table read(const std::string& text, const TableOptions& options = {}) const {
    return read_table(put("data.csv", text), options);
  }
  std::string error(const std::string& text, const TableOptions& options = {}) const {
    return error_of([&] { read(text, options); });
  }
};

std::vector<double> numbers(const Column& column) {
  std::vector<double> out(column.rows());
  column.read(0, out);
  return out;
}

TEST_F(ReadTable, TypesFollowFromTheEntries) {
  const Table table = read("x,f,b,n\n1,red,TRUE,NA\n-2.5,blue,F,\n3e2,,NA,NA\n");
  EXPECT_EQ(table.rows(), 3U);
  EXPECT_THAT(table.names(), ElementsAre("x", "f", "b", "n"));
  EXPECT_EQ(table.column(0).kind(), ColumnKind::number);
  EXPECT_THAT(numbers(table.column(0)), ElementsAre(1, -2.5, 300));
  EXPECT_EQ(table.column(1).kind(), ColumnKind::factor);
  EXPECT_THAT(table.column(1).levels(), ElementsAre("blue", "red"));
  EXPECT_EQ(table.column(1).code(0), 1U);
  EXPECT_EQ(table.column(1).code(2), Column::missing_code);
  EXPECT_EQ(table.column(1).missing(), 1U);
  EXPECT_EQ(table.column(2).kind(), ColumnKind::logical);
  EXPECT_THAT(table.column(2).levels(), ElementsAre("FALSE", "TRUE"));
  EXPECT_EQ(table.column(2).code(1), 0U);
  EXPECT_EQ(table.column(3).kind(), ColumnKind::number);
  EXPECT_EQ(table.column(3).missing(), 3U);
}

}  // namespace
}  // namespace onward
