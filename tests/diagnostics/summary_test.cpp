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
      "theta.10      1.23      2.35     -2.50      1.20      5.10      0.023     10050      8000  1.000\n"
      "tau       0.001235  0.000456  0.000500  0.000000  0.002000  9.100e-06     10050      8000  1.000\n");
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

TEST(Warnings, NothingToSay) { EXPECT_THAT(warnings({good("a"), good("b")}, 4, 1000), IsEmpty()); }

TEST(Warnings, RhatNamesTheWorst) {
  auto bad = good("theta.3");
  bad.rhat = 1.0834;
  auto worse = good("tau");
  worse.rhat = 1.21;
  const auto lines = warnings({good("mu"), bad, worse}, 4, 1000);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("R-hat of tau (and of 1 other) is 1.210, above 1.01"));
  EXPECT_THAT(lines[0], HasSubstr("--warmup"));
}

TEST(Warnings, EssCountsChains) {
  auto few = good("mu");
  few.ess_tail = 399.5;
  const auto lines = warnings({few}, 4, 1000);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("--metric dense")));
  EXPECT_THAT(warnings({few}, 4, 1000, false), ElementsAre(Not(HasSubstr("--metric"))));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("Tail ESS of mu is 399, below 100 a chain (400 in all)"));
  EXPECT_THAT(lines[0], HasSubstr("more --draws"));
  EXPECT_THAT(warnings({few}, 3, 1000), IsEmpty());
  few.ess_bulk = 20;
  EXPECT_THAT(warnings({few}, 3, 1000), ElementsAre(HasSubstr("Bulk ESS of mu is 20, below 100 a chain")));
}

TEST(Warnings, OneChainHasNoRhat) {
  auto single = good("mu");
  single.rhat = nan;
  EXPECT_THAT(warnings({single}, 1, 1000), ElementsAre(HasSubstr("--chains 4")));
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
