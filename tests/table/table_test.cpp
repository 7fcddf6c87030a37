// Tables from memory, and numbers as R spells them.

#include "onward/table/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/scratch.hpp"

namespace onward {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

TEST(Table, ColumnsComeFromMemory) {
  const std::vector<float> floats{1.5F, std::nanf("")};
  const std::vector<std::int64_t> integers{1LL << 40, -3};
  const std::vector<std::string> words{"b", "a"};
  const Table table({Column::numbers("x", std::span(floats)), Column::numbers("i", std::span(integers)),
                     Column::text("f", words), Column::factor("g", {1, Column::missing_code}, {"z", "y"}),
                     Column::logical("b", {1, 0})});
  EXPECT_EQ(table.rows(), 2U);
  EXPECT_EQ(table.column(0).missing(), 1U);
  EXPECT_EQ(table.column(1).number(0), std::ldexp(1.0, 40));
  EXPECT_THAT(table.column(2).levels(), ElementsAre("a", "b"));
  EXPECT_THAT(table.column(2).codes(), ElementsAre(1, 0));
  EXPECT_THAT(table.column(3).levels(), ElementsAre("z", "y"));
  EXPECT_EQ(table.column(3).spelling(1), "NA");
  EXPECT_EQ(table.column(4).kind(), ColumnKind::logical);
  EXPECT_EQ(table.line_of_row(1), 0U);
  EXPECT_EQ(table.place_of_row(1), "row 2 of the table");
}

TEST(Table, WrongTablesAreRefused) {
  const std::vector<double> two{1, 2}, three{1, 2, 3}, none;
  const auto numbers = [](const char* name, const std::vector<double>& values) {
    return Column::numbers(name, std::span(values));
  };
  EXPECT_THAT(error_of([&] {
                Table({numbers("a", two), numbers("b", three)});
              }),
              HasSubstr("column b has 3 rows where a has 2"));
  EXPECT_THAT(error_of([&] {
                Table({numbers("a", two), numbers("a", two)});
              }),
              HasSubstr("two columns of the name a"));
  EXPECT_THAT(error_of([&] { Table({numbers("a", none)}); }), HasSubstr("no rows"));
  EXPECT_THAT(error_of([&] { Table({numbers("", two)}); }), HasSubstr("column 1 has no name"));
  EXPECT_THAT(error_of([&] { Table(std::vector<Column>()); }), HasSubstr("no columns"));
  EXPECT_THAT(error_of([] { Column::factor("f", {2}, {"a", "b"}); }), HasSubstr("code 2"));
}

TEST(Table, UnknownNamesGetASuggestion) {
  const std::vector<double> one{1};
  const Table table({Column::numbers("height", std::span(one)), Column::numbers("age", std::span(one))});
  EXPECT_EQ(table.find("age")->name(), "age");
  EXPECT_EQ(table.look_up("ages"), nullptr);
  EXPECT_THAT(error_of([&] { table.find("heigth"); }), HasSubstr("Did you mean height?"));
  EXPECT_THAT(error_of([&] { table.find("zzz"); }), HasSubstr("Its columns: height, age"));
}

TEST(Table, NumbersAreSpelledAsByR) {
  EXPECT_EQ(spelled_number(0.1), "0.1");
  EXPECT_EQ(spelled_number(1e5), "1e+05");
  EXPECT_EQ(spelled_number(123456), "123456");
  EXPECT_EQ(spelled_number(1e15), "1e+15");
  EXPECT_EQ(spelled_number(1e-5), "1e-05");
  EXPECT_EQ(spelled_number(0.0001), "1e-04");
  EXPECT_EQ(spelled_number(100000.1), "100000.1");
  EXPECT_EQ(spelled_number(1.0 / 3), "0.333333333333333");
  EXPECT_EQ(spelled_number(-2.5), "-2.5");
  EXPECT_EQ(spelled_number(0.1 + 0.2), "0.3");
  EXPECT_EQ(spelled_number(1e300), "1e+300");
  EXPECT_EQ(spelled_number(0), "0");
  EXPECT_EQ(spelled_number(1234567890123456), "1234567890123456");
}

}  // namespace
}  // namespace onward
