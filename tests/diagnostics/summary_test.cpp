#include "onward/diagnostics/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

ParameterSummary good(std::string name) {
  return {std::move(name), 1.23456, 2.34567, -2.5, 1.2, 5.1, 0.0234, 10'050.7, 8'000.2, 1.0004};
}

TEST(SummaryTable, IsAlignedAndShowsWhatTheErrorAllows) {
  auto small = good("tau");
  small.mean = 0.00123456;
  small.sd = 0.000456;
  small.q5 = 0.0005;
  small.q50 = -0.00000001;
  small.q95 = 0.002;
  small.mcse_mean = 0.0000091;
  const std::string table = summary_table({good("theta.10"), small});
  EXPECT_EQ(
      table,
      "name          mean        sd        5%       50%       95%       mcse  ess_bulk  ess_tail   rhat\n"
      "theta.10      1.23      2.35     -2.50      1.20      5.10      0.023     10051      8000  1.000\n"
      "tau       0.001235  0.000456  0.000500  0.000000  0.002000  9.100e-06     10051      8000  1.000\n");
}

TEST(SummaryTable, LongRunsShowMoreDigits) {
  auto precise = good("mu");
  precise.mcse_mean = 0.000234;
  EXPECT_THAT(summary_table({precise}), HasSubstr("mu    1.2346  2.3457"));
}

TEST(SummaryTable, ExtremeAndMissingValuesStayNarrow) {
  const ParameterSummary huge{"huge", 1.5e300, 2.5e299, -1e300, 1e300, 2e300, 1e297, 400, 300, 1.0};
  const ParameterSummary tiny{"tiny", 1.5e-30, 2.5e-31, 1e-30, 1e-30, 2e-30, 1e-33, 400, 300, 1.0};
  const ParameterSummary none{"none", nan, -nan, nan, nan, nan, -nan, nan, nan, nan};  // no sign is shown
  const ParameterSummary fixed{"fixed", 3.5, 0, 3.5, 3.5, 3.5, 0, 400, 400, nan};
  const ParameterSummary zero{"zero", 0, 0, 0, 0, 0, 0, 400, 400, nan};
  const ParameterSummary apart{"apart", 3.5, 1, 3.5, 3.5,
                               3.5,     1,   4, 4,   std::numeric_limits<double>::infinity()};
  const std::string table = summary_table({huge, tiny, none, fixed, zero, apart});
  std::istringstream lines(table);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) {
    if (width == 0) width = line.size();
    EXPECT_EQ(line.size(), width) << table;
  }
  EXPECT_LE(width, 110u) << table;
  EXPECT_THAT(table, HasSubstr("1.500e+300"));
  EXPECT_THAT(table, HasSubstr("1.500e-30"));
  EXPECT_THAT(table, HasSubstr("inf"));
  EXPECT_EQ(table.find("-nan"), std::string::npos) << table;
}

TEST(SummaryTable, CutsLongNamesAndLongTables) {
  const std::string name(100, 'x');
  TableOptions options;
  options.max_rows = 2;
  options.max_name_width = 20;
  const std::string table = summary_table({good("a" + name + "z"), good("b"), good("c"), good("d")}, options);
  EXPECT_THAT(table, HasSubstr("axxxxxxxx..xxxxxxxxz "));
  EXPECT_THAT(table, HasSubstr("... and 2 more\n"));
  EXPECT_THAT(table, testing::Not(HasSubstr("\nc ")));
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

TEST(SummaryTable, FitsAWidthByLeavingOutColumnsAndThenByCuttingNames) {
  const auto table = [](const std::vector<std::string>& names, std::size_t width) {
    std::vector<ParameterSummary> rows;
    for (const auto& name : names) rows.push_back(good(name));
    return summary_table(rows, {.width = width});
  };
  EXPECT_THAT(table({"mu", "tau"}, 80), Not(HasSubstr("left out")));

  const std::string one_column = table({"grandparents_smoke"}, 80);
  EXPECT_LE(widest_line(one_column), 80u) << one_column;
  EXPECT_THAT(one_column, HasSubstr("(left out to fit 80 columns: mcse)"));
  EXPECT_THAT(one_column, HasSubstr("grandparents_smoke "));

  const std::string long_names = table({"standardised_education_of_the_mother", "income"}, 80);
  EXPECT_LE(widest_line(long_names), 80u) << long_names;
  EXPECT_THAT(long_names, HasSubstr("left out to fit 80 columns: mcse, 50%)"));
  EXPECT_THAT(long_names, HasSubstr("standardis"));
  EXPECT_THAT(long_names, HasSubstr("the_mother "));

  const std::string narrow = table({"standardised_education_of_the_mother"}, 60);
  EXPECT_LE(widest_line(narrow), 60u) << narrow;
  EXPECT_THAT(narrow, HasSubstr("(left out to fit 60 columns: mcse, 50%, ess_tail)"));
}

TEST(SummaryTable, CutNamesStayDifferent) {
  std::vector<ParameterSummary> rows;
  for (const char* which : {"north", "south"})
    rows.push_back(
        good(std::string("effect_of_the_region_in_the_") + which + "_on_the_price_of_houses_in_1990"));
  for (const std::size_t width : {0, 80, 60, 20}) {
    const std::string table = summary_table(rows, {.max_name_width = 20, .width = width});
    std::istringstream lines(table);
    std::string heading, first, second;
    std::getline(lines, heading);
    std::getline(lines, first);
    std::getline(lines, second);
    EXPECT_NE(first, second) << table;
  }
}

TEST(SummaryTable, CutsAndAlignsByCharactersNotBytes) {
  const std::string wide =
      "gr\xc3\xb6\xc3\x9f"
      "e_der_wohnung_in_m\xc2\xb2";  // two bytes each
  const std::string table = summary_table({good(wide), good("a")}, {.max_name_width = 8});
  EXPECT_THAT(table, HasSubstr("\ngr\xc3\xb6.._m\xc2\xb2  1.23"));
  EXPECT_THAT(table, HasSubstr("\na         1.23"));
}

TEST(Warnings, SpeakInTheWordsOfTheProgram) {
  auto bad = good("tau");
  bad.rhat = 1.21;
  EXPECT_THAT(warnings({bad}, 4, 1000, true, {.draws = "--draws", .dense_metric = "--metric dense"}),
              ElementsAre(HasSubstr("more --draws, then --metric dense or another sampler")));
}

TEST(Warnings, NothingToSay) { EXPECT_THAT(warnings({good("a"), good("b")}, 4, 1000), IsEmpty()); }

TEST(Warnings, RhatNamesTheWorst) {
  auto bad = good("theta.3");
  bad.rhat = 1.0834;
  auto worse = good("tau");
  worse.rhat = 1.21;
  const auto lines = warnings({good("mu"), bad, worse}, 4, 1000);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("R-hat of tau (and of 1 other) is 1.210, above 1.01"));
  EXPECT_THAT(lines[0],
              HasSubstr("Try a longer warmup and more draws, then a dense metric or another sampler."));
}

TEST(Warnings, EssCountsChains) {
  auto few = good("mu");
  few.ess_tail = 399.5;
  const auto lines = warnings({few}, 4, 1000);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("a dense metric")));
  EXPECT_THAT(warnings({few}, 4, 1000, false), ElementsAre(Not(HasSubstr("metric"))));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("Tail ESS of mu is 399.50, below 100 a chain (400 in all)"));
  EXPECT_THAT(lines[0], HasSubstr("more draws"));
  EXPECT_THAT(warnings({few}, 3, 1000), IsEmpty());
  few.ess_bulk = 20;
  EXPECT_THAT(warnings({few}, 3, 1000), ElementsAre(HasSubstr("Bulk ESS of mu is 20, below 100 a chain")));
}

TEST(Warnings, OneChainHasNoRhat) {
  auto single = good("mu");
  single.rhat = nan;
  EXPECT_THAT(warnings({single}, 1, 1000), ElementsAre(HasSubstr("chains = 4")));
}

TEST(Warnings, FewDrawsConstantsAndNan) {
  EXPECT_THAT(warnings({good("a")}, 4, 3),
              ElementsAre(HasSubstr("at least 4 draws a chain and there are 3")));
  auto fixed = good("rho");
  fixed.sd = 0;
  fixed.rhat = nan;
  fixed.ess_bulk = fixed.ess_tail = 40;
  EXPECT_THAT(warnings({fixed}, 4, 10), ElementsAre(HasSubstr("All draws of rho are equal")));
  const ParameterSummary none{"none", nan, nan, nan, nan, nan, nan, nan, nan, nan};
  EXPECT_THAT(warnings({none}, 4, 10), ElementsAre(HasSubstr("Draws of none are not all finite")));
  EXPECT_THAT(warnings({}, 4, 10), IsEmpty());
}

}  // namespace
}  // namespace onward
