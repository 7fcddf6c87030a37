// `onward check`: figures, pictures, and what it refuses.

#include "regression_program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

using CheckRun = RegressionProgram;

TEST_F(CheckRun, PrintsStatisticsAndDrawsAPicture) {
  sample("y ~ x + f + (1 | g)", "gaussian");
  const Outcome outcome = onward("check run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("run: 60 rows of y, and 800 data sets replicated by the model"));
  EXPECT_THAT(outcome.out, HasSubstr("The data are within what the model predicts"));
  EXPECT_THAT(outcome.out, HasSubstr("picture: run/check.png"));
  EXPECT_THAT(get(path("run/check.png")).substr(1, 3), "PNG");
  const Outcome again = onward("check run --threads 1");
  EXPECT_EQ(again.out, outcome.out);
  const json found = json::parse(onward("check run --json --quiet --picture none --statistic sd,max").out);
  ASSERT_EQ(found.at("statistics").size(), 2U);
  EXPECT_EQ(found.at("statistics").at(1).at("statistic"), "max");
  EXPECT_TRUE(found.at("picture").is_null());
  EXPECT_TRUE(found.at("statistics").at(0).at("level").is_null());
  EXPECT_GT(found.at("statistics").at(0).at("q95"), found.at("statistics").at(0).at("q5"));
}

// A model without x leaves its slope to the groups' noise: the spread of y within levels of x is not
// reproduced.
TEST_F(CheckRun, GoesByTheValuesOfAColumn) {
  sample("y ~ 1", "gaussian");
  const Outcome outcome = onward("check run --group x --picture by.svg --statistic mean");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("all rows  mean"));
  EXPECT_THAT(outcome.out, HasSubstr("By levels, "));
  EXPECT_THAT(get(path("by.svg")), HasSubstr("<svg"));
  const json found =
      json::parse(onward("check run --group x --json --quiet --picture none --statistic mean").out);
  ASSERT_EQ(found.at("statistics").size(), 13U);
  EXPECT_EQ(found.at("statistics").at(1).at("level"), "-1");
  EXPECT_LT(found.at("statistics").at(12).at("p"), 0.01);  // the largest x
  EXPECT_GT(found.at("statistics").at(1).at("p"), 0.99);
}

TEST_F(CheckRun, KnowsTrialsAndClasses) {
  sample("cbind(s, n - s) ~ x", "binomial");
  const json counts = json::parse(onward("check run --json --quiet").out);
  EXPECT_EQ(counts.at("statistics").at(0).at("observed"), 1.5);  // successes, not shares
  EXPECT_NEAR(counts.at("statistics").at(0).at("mean"), 1.5, 0.1);
  std::filesystem::remove_all(path("run"));
  sample("c ~ x", "categorical");
  EXPECT_THAT(onward("check run --quiet").out, HasSubstr("share of high"));
}

TEST_F(CheckRun, SaysWhatIsWrong) {
  sample("y ~ x + (1 | g)", "gaussian", "--keep-groups none");
  cannot("check run", {"the run did not keep r(g)Intercept[g0]", "--keep-groups all"});
  std::filesystem::remove_all(path("run"));
  sample("y ~ x", "gaussian");
  wrong_usage("check run --statistic maen", {"--statistic maen is not known", "Did you mean mean?"});
  wrong_usage("check run --picture a.jpg", {"--picture a.jpg", ".png or .svg"});
  cannot("check run --group z", {"z"});
  cannot("check nothing", {"nothing"});
  put("data.csv", get(path("data.csv")) + "1,2,4,0,a,g1,low\n");
  cannot("check run", {"data.csv", "changed"});
  EXPECT_THAT(onward("check --help").out, HasSubstr("--group COLUMN"));
  EXPECT_THAT(onward("--help").out, HasSubstr("check"));
}

}  // namespace
}  // namespace onward::testing
