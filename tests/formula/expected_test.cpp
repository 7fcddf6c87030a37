// Designs and level blocks against those of R and lme4, which tests/formula/make_expected.R stored.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "onward/formula/frame.hpp"
#include "onward/table/read_table.hpp"

namespace onward::formula {
namespace {

using ::testing::ElementsAreArray;
using Json = nlohmann::ordered_json;

const std::string folder = std::string(ONWARD_TEST_DATA) + "/formula/";

const Json& expected() {
  static const Json json = Json::parse(std::ifstream(folder + "expected.json"));
  return json;
}
const Table& table() {
  static const Table data = read_table(folder + "data.csv");
  return data;
}

/// Within a millionth; of numbers below `floor`, a millionth of that.
void expect_near(const std::vector<double>& found, const std::vector<double>& wanted, const std::string& what,
                 double floor = 1e-2) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 1e-6 * std::max(floor, std::abs(wanted[i]))) << what << ", row " << i;
}

/// Column j read in two pieces, as no caller is bound to take it whole.
std::vector<double> column(const Frame& frame, std::size_t j) {
  std::vector<double> out(frame.rows);
  const std::size_t cut = frame.rows / 3;
  frame.column(j, 0, std::span(out).first(cut));
  frame.column(j, cut, std::span(out).subspan(cut));
  return out;
}

std::vector<std::string> names_with_intercept(const Frame& frame) {
  std::vector<std::string> names = frame.column_names;
  if (frame.intercept) names.insert(names.begin(), "(Intercept)");
  return names;
}

FrameOptions options_of(const Json& entry) {
  FrameOptions options;
  if (entry.value("contrasts", "treatment") == "sum") options.contrasts = Contrasts::sum;
  return options;
}

void check_design(const Json& entry, const Frame& frame) {
  ASSERT_EQ(frame.rows, entry["rows"].get<std::size_t>());
  EXPECT_EQ(frame.dropped, table().rows() - frame.rows);
  ASSERT_THAT(names_with_intercept(frame), ElementsAreArray(entry["names"].get<std::vector<std::string>>()));
  EXPECT_THAT(frame.term_labels, ElementsAreArray(entry["terms"].get<std::vector<std::string>>()));
  const auto columns = entry["columns"].get<std::vector<std::vector<double>>>();
  for (std::size_t j = 0; j < frame.column_names.size(); ++j)
    expect_near(column(frame, j), columns[j + (frame.intercept ? 1 : 0)], frame.column_names[j]);
  if (entry["offset"].is_null())
    EXPECT_TRUE(frame.offset.empty());
  else
    expect_near(frame.offset, entry["offset"].get<std::vector<double>>(), "offset");
}

TEST(Expected, DesignsAreThoseOfModelMatrix) {
  ASSERT_GE(expected()["fixed"].size(), 60U);
  for (const Json& entry : expected()["fixed"]) {
    const auto text = entry["formula"].get<std::string>();
    SCOPED_TRACE(text);
    try {
      check_design(entry, make_frame(Formula(text), table(), options_of(entry)));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Expected, LevelBlocksAreThoseOfLme4) {
  ASSERT_GE(expected()["grouped"].size(), 20U);
  for (const Json& entry : expected()["grouped"]) {
    const auto text = entry["formula"].get<std::string>();
    SCOPED_TRACE(text);
    const Frame frame = make_frame(Formula(text), table());
    ASSERT_EQ(frame.rows, entry["rows"].get<std::size_t>());
    ASSERT_THAT(names_with_intercept(frame),
                ElementsAreArray(entry["names"].get<std::vector<std::string>>()));
    const Json& groups = entry["groups"];
    ASSERT_EQ(frame.groups.size(), groups.size());
    for (std::size_t b = 0; b < groups.size(); ++b) {
      SCOPED_TRACE(b);
      const GroupTerm& group = frame.groups[b];
      EXPECT_EQ(group.factor, groups[b]["factor"].get<std::string>());
      EXPECT_THAT(group.levels, ElementsAreArray(groups[b]["levels"].get<std::vector<std::string>>()));
      EXPECT_THAT(group.level_of_row, ElementsAreArray(groups[b]["codes"].get<std::vector<std::uint32_t>>()));
      auto columns = groups[b]["columns"].get<std::vector<std::string>>();
      for (auto& name : columns)
        if (name == "(Intercept)") name = "Intercept";
      ASSERT_THAT(group.columns, ElementsAreArray(columns));
      // Each column c has the effect c + 2 in the first level, twice as much in the second, and so on.
      std::vector<double> predictor(frame.rows);
      for (std::size_t c = 0; c < columns.size(); ++c)
        for (std::size_t i = 0; i < frame.rows; ++i)
          predictor[i] += static_cast<double>((c + 2) * (group.level_of_row[i] + 1)) *
                          (group.values[c].empty() ? 1 : static_cast<double>(group.values[c][i]));
      expect_near(predictor, groups[b]["predictor"].get<std::vector<double>>(), group.factor, 1);
    }
  }
}

/// A table of some rows of the stored data, as new data to predict for.
Table some_rows(std::size_t first, std::size_t step) {
  std::vector<Column> columns;
  for (std::size_t j = 0; j < table().columns(); ++j) {
    const Column& column = table().column(j);
    std::vector<double> numbers;
    std::vector<std::string> words;
    std::vector<std::uint32_t> codes;
    for (std::size_t i = first; i < table().rows(); i += step) {
      numbers.push_back(column.number(i));
      words.push_back(column.spelling(i));
      if (column.kind() == ColumnKind::logical) codes.push_back(column.code(i));
    }
    const std::vector<std::string> na{"NA"};
    columns.push_back(column.kind() == ColumnKind::number   ? Column::numbers(column.name(), numbers)
                      : column.kind() == ColumnKind::factor ? Column::text(column.name(), words, na)
                                                            : Column::logical(column.name(), codes));
  }
  return Table(std::move(columns));
}

TEST(Expected, NewDataHaveTheColumnsOfTheFitThroughJson) {
  // Every 7th row lacks some levels, and has other means and spreads; what it gets must be what it had in the
  // fit.
  const Table part = some_rows(2, 7);
  for (const char* kind : {"fixed", "grouped"})
    for (const Json& entry : expected()[kind]) {
      const auto text = entry["formula"].get<std::string>();
      SCOPED_TRACE(text);
      const Frame fitted = make_frame(Formula(text), table(), options_of(entry));
      FrameOptions options;
      options.state = Json::parse(fitted.state.dump());
      const Frame frame = make_frame(Formula(text), part, options);
      EXPECT_EQ(frame.state, fitted.state);
      ASSERT_EQ(frame.column_names, fitted.column_names);
      const auto position = [&](std::size_t i) {  // of row i of the new frame among the rows of the fit
        const std::size_t row = 2 + 7 * (frame.table_rows.empty() ? i : frame.table_rows[i]);
        if (fitted.table_rows.empty()) return row;
        return static_cast<std::size_t>(std::ranges::find(fitted.table_rows, row) -
                                        fitted.table_rows.begin());
      };
      for (std::size_t j = 0; j < frame.column_names.size(); ++j) {
        const auto now = column(frame, j), then = column(fitted, j);
        for (std::size_t i = 0; i < now.size(); ++i)
          ASSERT_EQ(now[i], then[position(i)]) << frame.column_names[j];
      }
      for (std::size_t b = 0; b < frame.groups.size(); ++b) {
        ASSERT_EQ(frame.groups[b].levels, fitted.groups[b].levels);
        for (std::size_t i = 0; i < frame.rows; ++i)
          ASSERT_EQ(frame.groups[b].level_of_row[i], fitted.groups[b].level_of_row[position(i)]);
      }
    }
}

}  // namespace
}  // namespace onward::formula
