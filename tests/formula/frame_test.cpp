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

const std::string small =
    "y,s,n,x,f,h,b,g\n"
    "1,2,4,0.5,a,u,TRUE,p\n"
    "2,3,5,1.5,b,v,FALSE,q\n"
    "3,1,4,NA,c,u,TRUE,p\n"
    "4,0,6,3.5,a,v,FALSE,q\n"
    "5,4,4,4.5,b,u,TRUE,r\n";

TEST_F(FrameTest, RowsWithMissingValuesAreDroppedAndCounted) {
  const Table table = read(small);
  const Frame frame = make_frame(Formula("y ~ x + f"), table);
  EXPECT_EQ(frame.rows, 4U);
  EXPECT_EQ(frame.dropped, 1U);
  EXPECT_THAT(frame.table_rows, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(frame.y, ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(frame.column_names, ElementsAre("x", "fb"));  // no row is left with c
  EXPECT_THAT(frame.notes, ElementsAre("1 of 5 rows has a missing value and is left out (x: 1).",
                                       "Level c of f has no rows and is left out."));
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ x"), table, {.missing = Missing::refuse}); }),
              HasSubstr("data.csv:4: x is missing here"));
}

TEST_F(FrameTest, WhatIsNotDefinedCountsAsMissing) {
  const Frame frame = make_frame(Formula("y ~ log(x - 1)"), read(small));
  EXPECT_EQ(frame.dropped, 2U);
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ I(1 / (y - 2))"), read(small)); }),
              HasSubstr("data.csv:3: I(1/(y - 2)) is infinite"));
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ sqrt(-y)"), read(small)); }),
              HasSubstr("every row has a missing value (sqrt(-y): 5)"));
}

TEST_F(FrameTest, Responses) {
  const Table table = read(small);
  const Frame pairs = make_frame(Formula("cbind(s, n - s) ~ y"), table);
  EXPECT_THAT(pairs.y, ElementsAre(2, 3, 1, 0, 4));
  EXPECT_THAT(pairs.trials, ElementsAre(4, 5, 4, 6, 4));
  EXPECT_EQ(pairs.response_name, "cbind(s, n - s)");
  const Frame trials = make_frame(Formula("s | trials(n) + weights(y) ~ 1"), table);
  EXPECT_THAT(trials.trials, ElementsAre(4, 5, 4, 6, 4));
  EXPECT_THAT(trials.weights, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(make_frame(Formula("s | trials(10) ~ 1"), table).trials, ElementsAre(10, 10, 10, 10, 10));
  const Frame two = make_frame(Formula("h ~ y"), table);
  EXPECT_THAT(two.response_levels, ElementsAre("u", "v"));
  EXPECT_THAT(two.y, ElementsAre(0, 1, 0, 1, 0));
  const Frame logical = make_frame(Formula("b ~ y"), table);
  EXPECT_THAT(logical.response_levels, ElementsAre("FALSE", "TRUE"));
  EXPECT_THAT(logical.y, ElementsAre(1, 0, 1, 0, 1));
  const Frame three = make_frame(Formula("f ~ y"), table, {.levels = {{"f", {"c", "b", "a"}}}});
  EXPECT_THAT(three.response_levels, ElementsAre("c", "b", "a"));
  EXPECT_THAT(three.y, ElementsAre(2, 1, 0, 2, 1));
  EXPECT_THAT(make_frame(Formula("log(y) ~ 1"), table).y[0], 0);
  EXPECT_TRUE(make_frame(Formula("y ~ x"), table, {.response = false}).y.empty());
  EXPECT_EQ(make_frame(Formula("s | trials(n) ~ y"), table, {.response = false}).trials.size(), 5U);
  const Frame both = make_frame(Formula("cbind(s, n - s) ~ y"), table, {.response = false});
  EXPECT_THAT(both.trials, ElementsAre(4, 5, 4, 6, 4));
  EXPECT_TRUE(both.y.empty());
  EXPECT_TRUE(make_frame(Formula("s | trials(nn) ~ y"), table, {.response = false}).trials.empty());
  EXPECT_THAT(make_frame(Formula("y ~ y + s"), table).column_names, ElementsAre("s"));
}

TEST_F(FrameTest, LevelsCanBeGiven) {
  const Table table = read(small);
  const auto with = [&](std::vector<std::string> levels) {
    return make_frame(Formula("y ~ f"), table, {.levels = {{"f", std::move(levels)}}});
  };
  EXPECT_THAT(with({"b", "c", "a"}).column_names, ElementsAre("fc", "fa"));
  EXPECT_THAT(error_of([&] {
                with({"a", "b"});
              }),
              HasSubstr("data.csv:4: f is \"c\", which is not among its `levels`: a, b"));
  EXPECT_THAT(error_of([&] { with({"a", "b", "c", "d"}); }), HasSubstr("no row has the level \"d\""));
  EXPECT_THAT(error_of([&] { with({"a", "b", "c", "a"}); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] {
                make_frame(Formula("y ~ f"), table, {.levels = {{"ff", {"a"}}}});
              }),
              HasSubstr("no column ff"));
}

TEST_F(FrameTest, FormulasThatDoNotFitTheTableAreRefused) {
  const Table table = read(small);
  const auto error = [&](const char* text) { return error_of([&] { make_frame(Formula(text), table); }); };
  EXPECT_THAT(error("y ~ X"), HasSubstr("has no column X. Its columns: y, s, n, x, f, h, b, g."));
  EXPECT_THAT(error("y ~ X"), HasSubstr("\n  y ~ X\n      ^"));
  EXPECT_THAT(error("yy ~ x"), HasSubstr("has no column yy"));
  EXPECT_THAT(error("y ~ (1 | G)"), HasSubstr("\n  y ~ (1 | G)\n           ^"));
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ heigth"), read("y,height\n1,2\n")); }),
              HasSubstr("has no column heigth. Did you mean height?"));
  EXPECT_THAT(error("y ~ lgo(x)"), HasSubstr("lgo is no function that formulas know. Did you mean log?"));
  EXPECT_THAT(error("y ~ s(x)"), HasSubstr("There are log, log2"));
  EXPECT_THAT(error("y ~ log(f)"), HasSubstr("f is used as a number and is text, as \"a\""));
  EXPECT_THAT(error("y ~ I(x == 'a')"), HasSubstr("x is a number and is compared with text"));
  EXPECT_THAT(error("y ~ log(poly(x, 2))"), HasSubstr("poly cannot stand here"));
  EXPECT_THAT(error("y ~ poly(x, 0)"), HasSubstr("from 1 to 30"));
  EXPECT_THAT(error("y ~ poly(x, 4)"), HasSubstr("less than the number of different values, 4"));
  EXPECT_THAT(error("y ~ log(x, bas = 2)"),
              HasSubstr("log has no argument bas here; it has x, base. Did you mean base?"));
  EXPECT_THAT(error("y ~ log(x, 2, 3)"), HasSubstr("more arguments"));
  EXPECT_THAT(error("y ~ log()"), HasSubstr("log needs an argument"));
  EXPECT_THAT(error("y ~ relevel(f, ref = 'z')"), HasSubstr("which are a, b, c"));
  EXPECT_THAT(error("y ~ scale(x - x)"), HasSubstr("is not defined"));
  EXPECT_THAT(error("poly(y, 2) ~ x"), HasSubstr("a response is one column"));
  EXPECT_THAT(error("y | trials(f) ~ x"), HasSubstr("trials are numbers, and f is not"));
}

TEST_F(FrameTest, AFactorOfOneLevelIsRefused) {
  const Table table = read("y,f,x\n1,a,1\n2,a,2\n3,b,\n");
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ x + f"), table); }),
              HasSubstr("f has one level, \"a\", and contrasts need two"));
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ x + (1 | f)"), table); }),
              HasSubstr("f has one level, and a group needs two"));
  EXPECT_THAT(error_of([&] { make_frame(Formula("f ~ x"), table); }),
              HasSubstr("the response f has one level"));
}

TEST_F(FrameTest, TextWhereNumbersAreDueNamesTheLine) {
  const Table table = read("y,x\n1,1\n2,3.5\n3,1O\n4,2\n");
  EXPECT_THAT(make_frame(Formula("y ~ x"), table).notes,
              ElementsAre(HasSubstr("x is a factor of 4 levels, as " + table.source() + ":4 has \"1O\"")));
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ log(x)"), table); }),
              HasSubstr("x is used as a number, and " + table.source() + ":4 has \"1O\" in this column"));
}

TEST_F(FrameTest, NewLevelsAreRefusedOrNumbered) {
  const Formula formula("y ~ f + (1 | g) + (1 | g:h)");
  FrameOptions options{.response = false};
  options.state = make_frame(formula, read(small)).state;
  EXPECT_THAT(error_of([&] { make_frame(formula, read("f,g,h\na,p,u\nd,p,u\n"), options); }),
              HasSubstr("data.csv:3: f is \"d\", a level that the fitted model does not have"));
  const Table fresh = read("f,g,h\na,r,u\na,z,v\nb,p,v\n");
  EXPECT_THAT(error_of([&] { make_frame(formula, fresh, options); }), HasSubstr("data.csv:3: g is \"z\""));
  options.new_levels = NewLevels::number;
  const Frame frame = make_frame(formula, fresh, options);
  const GroupTerm& both = frame.groups[0].factor == "g" ? frame.groups[1] : frame.groups[0];
  const GroupTerm& g = frame.groups[0].factor == "g" ? frame.groups[0] : frame.groups[1];
  EXPECT_THAT(g.levels, ElementsAre("p", "q", "r"));
  EXPECT_THAT(g.level_of_row, ElementsAre(2, 3, 0));
  EXPECT_THAT(g.new_levels, ElementsAre("z"));
  EXPECT_THAT(both.levels, ElementsAre("p:u", "q:v", "r:u"));
  EXPECT_THAT(both.level_of_row, ElementsAre(2, 4, 3));
  EXPECT_THAT(both.new_levels, ElementsAre("p:v", "z:v"));
}

TEST_F(FrameTest, NewDataOfOtherTypesAreRefused) {
  FrameOptions options;
  options.state = make_frame(Formula("y ~ x"), read(small)).state;
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ x"), read("y,x\n1,2\n2,two\n"), options); }),
              HasSubstr("x was a number when the model was fitted, and is text here"));
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ x + poly(s, 2)"), read(small), options); }),
              HasSubstr("has no poly for poly(s, 2)"));
  options.state = "nonsense";
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ x"), read(small), options); }), HasSubstr("`state`"));
}

TEST_F(FrameTest, CodesThatLookLikeNumbersMatchWhenReadAsText) {
  const Frame fitted = make_frame(Formula("y ~ code"), read("y,code\n1,007\n2,01\n3,x1\n4,01\n"));
  EXPECT_THAT(text_columns(fitted.state), ElementsAre("code"));
  FrameOptions options{.state = fitted.state, .response = false};
  const Table fresh = read_table(put("new.csv", "code\n01\n007\n"), {.text = text_columns(fitted.state)});
  const Frame frame = make_frame(Formula("y ~ code"), fresh, options);
  EXPECT_THAT(frame.column_names, ElementsAre("code01", "codex1"));
  EXPECT_THAT(column(frame, 0), ElementsAre(1, 0));
}

TEST_F(FrameTest, DotLeavesOutGroupingFactors) {
  const Frame frame = make_frame(Formula("y ~ . + (1 | g)"), read(small));
  EXPECT_THAT(frame.column_names, ElementsAre("s", "n", "x", "fb", "hv", "bTRUE"));
}

TEST_F(FrameTest, LargeTablesCompareAndGroupByWhatTheFileSays) {
  // Beyond the first block numbers are floats; 0.1 must still equal 0.1 and be one level.
  std::string text = "y,x\n";
  const std::size_t rows = NumberBlocks::block_rows + 100;
  for (std::size_t i = 0; i < rows; ++i) text += std::to_string(i % 5) + (i % 2 == 0 ? ",0.1\n" : ",0.3\n");
  const Table table = read(text);
  ASSERT_TRUE(table.find("x")->is_float(rows - 1));
  const Frame frame = make_frame(Formula("y ~ I(x == 0.1) + factor(x) + I(x <= 0.1)"), table);
  EXPECT_THAT(frame.column_names, ElementsAre("I(x == 0.1)TRUE", "factor(x)0.3", "I(x <= 0.1)TRUE"));
  EXPECT_EQ(column(frame, 0)[rows - 2], 1);
  EXPECT_EQ(column(frame, 1)[rows - 2], 0);
  EXPECT_EQ(column(frame, 2)[rows - 2], 1);
}

TEST_F(FrameTest, AMillionLevelsAreNoTrouble) {
  std::vector<std::uint32_t> codes(1'000'000);
  std::vector<std::string> levels;
  std::vector<double> y(codes.size(), 1.0);
  for (std::uint32_t i = 0; i < codes.size(); ++i) {
    codes[i] = i;
    levels.push_back(std::to_string(i));
  }
  const Table table({Column::numbers("y", std::span<const double>(y)), Column::factor("g", codes, levels)});
  const Frame frame = make_frame(Formula("y ~ 1 + (1 | g)"), table);
  EXPECT_EQ(frame.groups[0].levels.size(), 1'000'000U);
  EXPECT_EQ(frame.groups[0].level_of_row.back(), 999'999U);
  EXPECT_THAT(error_of([&] { make_frame(Formula("y ~ g"), table); }), HasSubstr("belongs in a group"));
}

}  // namespace
}  // namespace onward::formula
