// Tables from CSV files: types, oddities of the format, and what is said of files that are wrong.

#include "onward/table/read_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "io/scratch.hpp"

namespace onward {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class ReadTable : public testing::Scratch {
 protected:
  Table read(const std::string& text, const ReadTableOptions& options = {}) const {
    return read_table(put("data.csv", text), options);
  }
  std::string error(const std::string& text, const ReadTableOptions& options = {}) const {
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

TEST_F(ReadTable, QuotesHoldSeparatorsQuotesAndLineEnds) {
  const Table table =
      read("\"a,b\",\"say \"\"so\"\"\"\n\"1\",\"x, \"\"y\"\"\"\n2,\"two\nlines\"\n3,plain \"quote\"\n4,z\n");
  EXPECT_THAT(table.names(), ElementsAre("a,b", "say \"so\""));
  EXPECT_THAT(numbers(table.column(0)), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(table.column(1).spelling(0), "x, \"y\"");
  EXPECT_EQ(table.column(1).spelling(1), "two\nlines");
  EXPECT_EQ(table.column(1).spelling(2), "plain \"quote\"");
  EXPECT_EQ(table.line_of_row(1), 3U);
  EXPECT_EQ(table.line_of_row(2), 5U);
  EXPECT_EQ(table.line_of_row(3), 6U);
  EXPECT_THAT(table.place_of_row(3), HasSubstr("data.csv:6"));
}

TEST_F(ReadTable, SeparatorsAreFoundInTheHeader) {
  for (const char* separator : {",", ";", "\t"}) {
    std::string text = "a,b,c\n1,x y,2.5\n3,z,4\n";
    for (char& c : text)
      if (c == ',') c = *separator;
    const Table table = read(text);
    EXPECT_THAT(table.names(), ElementsAre("a", "b", "c"));
    EXPECT_THAT(numbers(table.column(2)), ElementsAre(2.5, 4));
  }
  EXPECT_THAT(read("a,b;c\n1,x;2\n", {.separator = ';'}).names(), ElementsAre("a,b", "c"));
  EXPECT_THAT(error("a\n1\n", {.separator = '|'}), HasSubstr("`separator` is '|'"));
  EXPECT_EQ(read("alone\n1\n2\n").rows(), 2U);
}

TEST_F(ReadTable, ByteOrderMarksCarriageReturnsAndBlankLinesDoNotMatter) {
  const Table table = read("\xEF\xBB\xBFx,f\r\n1,a\r\n\r\n2,b\r\n\n3,\"c\"");
  EXPECT_THAT(table.names(), ElementsAre("x", "f"));
  EXPECT_THAT(numbers(table.column(0)), ElementsAre(1, 2, 3));
  EXPECT_THAT(table.column(1).levels(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(table.line_of_row(0), 2U);
  EXPECT_EQ(table.line_of_row(1), 4U);
  EXPECT_EQ(table.line_of_row(2), 6U);
}

TEST_F(ReadTable, GzipIsUndone) {
  const auto file = path("data.csv.gz");
  gzFile out = ::gzopen(file.c_str(), "wb");
  const std::string text = "x,f\n1,a\n2,b\n";
  ::gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(out);
  const Table table = read_table(file);
  EXPECT_THAT(numbers(table.column(0)), ElementsAre(1, 2));
}

TEST_F(ReadTable, MissingWordsAreThoseAsked) {
  const Table table = read("x,f\n-99,.\n1,NA\n,b\n", {.na = {"-99", "."}});
  EXPECT_EQ(table.column(0).kind(), ColumnKind::factor);  // the empty entry is a word now
  EXPECT_EQ(table.column(0).missing(), 1U);
  EXPECT_THAT(table.column(1).levels(), ElementsAre("NA", "b"));
  EXPECT_EQ(table.column(1).missing(), 1U);
  EXPECT_EQ(read("x\n 1 \n NA\nNaN\n-Inf\n").column(0).missing(), 2U);
}

TEST_F(ReadTable, RowNamesOfRAreLeftOut) {
  for (const char* header : {"x,f\n", "\"\",x,f\n", ",x,f\n"}) {
    const Table table = read(std::string(header) + "\"r1\",1,a\n\"r2\",2,b\n");
    EXPECT_THAT(table.names(), ElementsAre("x", "f"));
    EXPECT_THAT(numbers(table.column(0)), ElementsAre(1, 2));
    ASSERT_EQ(table.notes().size(), 1U);
    EXPECT_THAT(table.notes()[0], HasSubstr("row names"));
  }
}

TEST_F(ReadTable, TextAfterNumbersKeepsTheSpellingOfTheNumbers) {
  const Table table = read("x,code\n1,007\n2,1.50\n3,NA\n4,12x\n5,007\n");
  const Column& code = table.column(1);
  EXPECT_EQ(code.kind(), ColumnKind::factor);
  EXPECT_THAT(code.levels(), ElementsAre("007", "1.50", "12x"));
  EXPECT_EQ(code.code(4), 0U);
  EXPECT_EQ(code.missing(), 1U);
  ASSERT_TRUE(code.text_among_numbers().has_value());
  EXPECT_EQ(code.text_among_numbers()->line, 5U);
  EXPECT_EQ(code.text_among_numbers()->text, "12x");
  EXPECT_THAT(numbers(table.column(0)), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(ReadTable, WordsThatLookLikeNumbersStayWords) {
  const Table table = read("name\nNan\nAda\nInf\n");
  EXPECT_THAT(table.column(0).levels(), ElementsAre("Ada", "Inf", "Nan"));
  EXPECT_EQ(table.column(0).missing(), 0U);
}

TEST_F(ReadTable, ColumnsCanBeChosenAndForcedToText) {
  const Table table = read("a,b,c\n01,2,T\n02,4,F\n", {.keep = {"a", "c"}, .text = {"a", "c"}});
  EXPECT_THAT(table.names(), ElementsAre("a", "c"));
  EXPECT_THAT(table.column(0).levels(), ElementsAre("01", "02"));
  EXPECT_TRUE(table.notes().empty());
  EXPECT_THAT(table.column(1).levels(), ElementsAre("F", "T"));
  EXPECT_EQ(table.column(1).kind(), ColumnKind::factor);
  EXPECT_THAT(error("alpha,b\n1,2\n", {.keep = {"alpa"}}), HasSubstr("Did you mean alpha?"));
}

TEST_F(ReadTable, LevelsAreSortedByCodePoint) {
  EXPECT_THAT(read("f\nb\né\nZ\na10\na9\n").column(0).levels(), ElementsAre("Z", "a10", "a9", "b", "é"));
}

TEST_F(ReadTable, DecimalCommasAreNoted) {
  const Table table = read("x;f\n1,5;a\n2;b\n");
  EXPECT_EQ(table.column(0).kind(), ColumnKind::factor);
  ASSERT_EQ(table.notes().size(), 1U);
  EXPECT_THAT(table.notes()[0], HasSubstr("decimal commas"));
}

TEST_F(ReadTable, NumbersAreReadToTheLastBit) {
  std::string text = "x\n";
  std::vector<double> wanted;
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 200) - 140);
    const char* const format = i % 3 == 0 ? "%.17g" : i % 3 == 1 ? "%.6g" : "%.4f";
    std::array<char, 400> word;
    std::snprintf(word.data(), word.size(), format, value);
    wanted.push_back(std::strtod(word.data(), nullptr));
    text += std::string(word.data()) + "\n";
  }
  text += "1e400\n-1e-400\n+3\n.5\n5.\n1E3\n12345678901234567890123\n";
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {infinity, -0.0, 3.0, 0.5, 5.0, 1000.0, 12345678901234567890123.0})
    wanted.push_back(value);
  EXPECT_EQ(numbers(read(text).column(0)), wanted);
}

TEST_F(ReadTable, RecordsAcrossTheBufferAreWhole) {
  // Records of uneven length, so that the ends of the buffer fall on every part of one.
  std::string text = "i,word,quoted,x\n";
  std::mt19937 random(3);
  const std::size_t rows = 60000;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string word(random() % 40 + 1, static_cast<char>('a' + i % 26));
    text += std::to_string(i) + "," + word + ",\"" + word + (i % 100 == 0 ? "\n" : "") + "\"\"" + "\"," +
            std::to_string(i % 7) + ".25\r\n";
  }
  const Table table = read(text);
  ASSERT_EQ(table.rows(), rows);
  random.seed(3);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string word(random() % 40 + 1, static_cast<char>('a' + i % 26));
    ASSERT_EQ(table.column(0).number(i), static_cast<double>(i));
    ASSERT_EQ(table.column(1).spelling(i), word);
    ASSERT_EQ(table.column(2).spelling(i), word + (i % 100 == 0 ? "\n" : "") + "\"");
    ASSERT_EQ(table.column(3).number(i), static_cast<double>(i % 7) + 0.25);
  }
  EXPECT_LE(table.column(1).levels().size(), 26U * 40U);
  EXPECT_EQ(table.line_of_row(rows - 1), 2 + (rows - 1) + rows / 100);
}

TEST_F(ReadTable, LargeColumnsAreFloatsWhereThatLosesNothing) {
  std::string text = "unit,count,time,price,rare\n";
  const std::size_t rows = 2 * NumberBlocks::block_rows + 5;
  for (std::size_t i = 0; i < rows; ++i)
    text += std::to_string(0.001 * static_cast<double>(i % 997)) + "," + std::to_string(i) + "," +
            std::to_string(1700000000 + i) + "," + std::to_string(5000 + 0.01 * static_cast<double>(i % 5)) +
            "," + std::to_string(i + 1 < rows ? i % 3 : 16777217) + "\n";
  const Table table = read(text);
  const std::size_t last = rows - 1, second = NumberBlocks::block_rows;
  const auto column = [&](const char* name) { return table.find(name); };
  EXPECT_FALSE(column("unit")->is_float(0));  // the first block is exact
  EXPECT_TRUE(column("unit")->is_float(second));
  EXPECT_NEAR(column("unit")->number(second), 0.001 * static_cast<double>(second % 997), 1e-6);
  EXPECT_TRUE(column("count")->is_float(second));
  EXPECT_EQ(column("count")->number(last), static_cast<double>(last));
  EXPECT_FALSE(column("time")->is_float(second));  // integers that a float would change
  EXPECT_EQ(column("time")->number(last), 1700000000.0 + static_cast<double>(last));
  EXPECT_FALSE(column("price")->is_float(second));  // little spread far from 0
  EXPECT_TRUE(column("rare")->is_float(second));
  EXPECT_EQ(column("rare")->number(last), 16777217.0);
  EXPECT_EQ(column("unit")->spelling(second), column("unit")->spelling(second % 997));
  EXPECT_LT(column("unit")->memory(), 4 * rows + 4 * NumberBlocks::block_rows + 100);
}

TEST_F(ReadTable, ErrorsNameFileLineAndColumn) {
  EXPECT_THAT(error("a,b,c\n1,2,3\n1,2\n"),
              HasSubstr("data.csv:3: the line has 2 fields, and the lines before it have 3"));
  EXPECT_THAT(error("a,b\n1,2\n\n1,2,3,4\n"), HasSubstr("data.csv:4: the line has 4 fields"));
  EXPECT_THAT(error("a,b\n1,\"2\n3,4\n"), HasSubstr("data.csv:2: a quote is opened here and never closed"));
  EXPECT_THAT(error("a,b\n1,\"x\"y\n"), HasSubstr("data.csv:2: y follows the closing quote of \"x\""));
  EXPECT_THAT(error("a,a\n1,2\n"), HasSubstr("data.csv:1: columns 1 and 2 both have the name a"));
  EXPECT_THAT(error("a,,c\n1,2,3\n"), HasSubstr("data.csv:1: column 2 of the header has no name"));
  EXPECT_THAT(error("a,b\n"), HasSubstr("data.csv has a header and no rows"));
  EXPECT_THAT(error(""), HasSubstr("data.csv is empty"));
  EXPECT_THAT(error("\n\n"), HasSubstr("data.csv is empty"));
  EXPECT_THAT(error(std::string("a,b\n1,\0x\n", 9)), HasSubstr("data.csv:2: column b has a byte 0"));
  EXPECT_THAT(error(std::string("\x7f"
                                "ELF\0\1\n1\n",
                                9)),
              HasSubstr("data.csv:1: the header has a byte 0"));
  EXPECT_THAT(error("a,b\n1,x\n2,caf\xe9\n"),
              HasSubstr("data.csv:3: column b has \"caf\\xe9\", which is not UTF-8"));
  EXPECT_THAT(error("a,b\n1,x\ry\n"), HasSubstr("data.csv:2: column b has a carriage return"));
  EXPECT_THAT(error_of([&] { read_table(path("absent.csv")); }), HasSubstr("absent.csv"));
}

TEST_F(ReadTable, DamagedGzipIsAnError) {
  EXPECT_THAT(error(std::string("\x1f\x8b\x08\0\0\0\0\0\0\3nonsense", 18)),
              HasSubstr("not a valid CSV file"));
}

}  // namespace
}  // namespace onward
