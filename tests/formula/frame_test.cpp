// Frames: the response, rows that are dropped, states for new data, and what is said of formulas that do not
// fit.

#include "onward/formula/frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "onward/table/read_table.hpp"

namespace onward::formula {
namespace {

using onward::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FrameTest : public onward::testing::Scratch {
 protected:
  Table read(const std::string& text) const { return read_table(put("data.csv", text)); }
};

std::vector<double> column(const Frame& frame, std::size_t j) {
  std::vector<double> out(frame.rows);
  frame.column(j, 0, out);
  return out;
}

TEST_F(FrameTest, ColumnsAreNamedAsInR) {
  const Table table = read("y,x,f,g\n1,2,a,p\n2,3,b,q\n3,5,c,p\n4,7,a,q\n");
  const Frame frame = make_frame(Formula("y ~ x*f + I(x^2) + (1 + x | g)"), table);
  EXPECT_TRUE(frame.intercept);
  EXPECT_THAT(frame.column_names, ElementsAre("x", "fb", "fc", "I(x^2)", "x:fb", "x:fc"));
  EXPECT_THAT(column(frame, 4), ElementsAre(0, 3, 0, 0));
  EXPECT_THAT(frame.y, ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(frame.groups.size(), 1U);
  EXPECT_THAT(frame.groups[0].columns, ElementsAre("Intercept", "x"));
  EXPECT_THAT(frame.groups[0].level_of_row, ElementsAre(0, 1, 0, 1));
}

}  // namespace
}  // namespace onward::formula
