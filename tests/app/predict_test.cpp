// `onward predict`: figures, files, and what it refuses.

#include "onward/io/npy.hpp"
#include "regression_program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using PredictRun = RegressionProgram;

TEST_F(PredictRun, GivesALineForEachRow) {
  sample("y ~ x + f + (1 | g)", "gaussian");
  const Outcome own = onward("predict run --quiet");
  ASSERT_EQ(own.code, 0) << own.err;
  const auto rows = lines(own.out);
  ASSERT_EQ(rows.size(), 61U);
  EXPECT_THAT(rows[0], ElementsAre("row", "mean", "sd", "q5", "q50", "q95"));
  const auto data = lines(get(path("data.csv")));
  double squares = 0;  // fitted values are near the data: noise has sd 0.5
  for (std::size_t i = 1; i < rows.size(); ++i)
    squares += std::pow(std::stod(rows[i][1]) - std::stod(data[i][0]), 2);
  EXPECT_LT(std::sqrt(squares / 60), 0.7);
  EXPECT_GT(std::sqrt(squares / 60), 0.3);

  put("new.csv", "f,x,g\na,0,g1\nb,NA,g1\nc,-1,g4\n");
  const Outcome fresh = onward("predict run --data new.csv --interval 0.5");
  ASSERT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_THAT(fresh.err, HasSubstr("1 of 3 rows"));
  const auto three = lines(fresh.out);
  EXPECT_THAT(three[0], ElementsAre("row", "mean", "sd", "q25", "q50", "q75"));
  EXPECT_THAT(three[2], ElementsAre("2", "NA", "NA", "NA", "NA", "NA"));
  ASSERT_EQ(three.size(), 4U);

  const Outcome as_json = onward("predict run --data new.csv --json --quiet");
  const json found = json::parse(as_json.out);
  EXPECT_EQ(found.at("draws"), 800);
  EXPECT_TRUE(found.at("rows").at(1).at("mean").is_null());
  EXPECT_NEAR(found.at("rows").at(2).at("mean"), std::stod(three[3][1]), 1e-6);
}

TEST_F(PredictRun, WritesDrawsAndRepeatsThem) {
  sample("s | trials(n) ~ x", "binomial");
  put("new.csv", "x,n\n0,100\n1,3\n");
  const std::string command = "predict run --data new.csv --what predictive --quiet --seed 5 ";
  ASSERT_EQ(onward(command + "--draws a.npy --out a.csv --threads 1").code, 0);
  ASSERT_EQ(onward(command + "--draws b.npy --out b.csv --threads 3").code, 0);
  EXPECT_EQ(get(path("a.npy")), get(path("b.npy")));
  EXPECT_EQ(get(path("a.csv")), get(path("b.csv")));
  const NpyArray draws = read_npy(path("a.npy"));
  EXPECT_THAT(draws.shape, ElementsAre(2, 800));
  double sum = 0;
  const std::vector<double> values = draws.to_doubles();
  for (std::size_t s = 0; s < 800; ++s) sum += values[s];
  EXPECT_NEAR(sum / 800, std::stod(lines(get(path("a.csv")))[1][1]), 1e-6);
  ASSERT_EQ(onward(command + "--draws c.csv --out c.csv.out").code, 0);
  EXPECT_EQ(lines(get(path("c.csv"))).size(), 3U);
  EXPECT_NE(onward("predict run --data new.csv --what predictive --quiet --seed 6").out, get(path("a.csv")));
  cannot(command + "--out a.csv", {"a.csv exists already", "--force"});
  EXPECT_EQ(onward(command + "--out a.csv --force").code, 0);
}

TEST_F(PredictRun, ClassesHaveALineEach) {
  sample("c ~ x", "categorical");
  put("new.csv", "x\n0.5\n");
  const auto rows = lines(onward("predict run --data new.csv --quiet").out);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_THAT(rows[0], ElementsAre("row", "class", "mean", "sd", "q5", "q50", "q95"));
  EXPECT_EQ(rows[1][1], "high");
  EXPECT_NEAR(std::stod(rows[1][2]) + std::stod(rows[2][2]) + std::stod(rows[3][2]), 1, 1e-6);
  std::filesystem::remove_all(path("run"));
  sample("s ~ x", "categorical");  // classes that are numbers
  const auto numbers = lines(onward("predict run --data new.csv --quiet").out);
  ASSERT_EQ(numbers.size(), 5U);
  EXPECT_EQ(numbers[4][1], "3");
}

TEST_F(PredictRun, NewLevelsAreRefusedOrDrawn) {
  sample("y ~ x + (1 | g)", "gaussian");
  put("new.csv", "x,g\n0,g1\n0,g9\n");
  cannot("predict run --data new.csv", {"new.csv:3: g is \"g9\"", "does not have", "--new-levels draw"});
  const Outcome drawn = onward("predict run --data new.csv --new-levels draw");
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_THAT(drawn.err, HasSubstr("g has a level that the fitted data do not have (g9)"));
  const auto rows = lines(drawn.out);
  EXPECT_GT(std::stod(rows[2][2]), 2 * std::stod(rows[1][2]));  // less is known of it
}

TEST_F(PredictRun, TakesTheTrialsOfTheRows) {
  sample("cbind(s, n - s) ~ x", "binomial");
  put("new.csv", "x,s,n\n0.5,0,10\n0.5,3,1000\n");
  const Outcome counted = onward("predict run --data new.csv");
  EXPECT_THAT(counted.err, HasSubstr("predictions are numbers of successes"));
  const auto rows = lines(counted.out);
  EXPECT_NEAR(std::stod(rows[2][1]), 100 * std::stod(rows[1][1]), 1e-4);
  put("new.csv", "x\n0.5\n");
  const Outcome single = onward("predict run --data new.csv");
  EXPECT_THAT(single.err, HasSubstr("for one trial each"));
  EXPECT_NEAR(10 * std::stod(lines(single.out)[1][1]), std::stod(rows[1][1]), 1e-6);
  put("new.csv", "x,s,n\n0.5,,\n");  // columns with nothing in them say nothing
  EXPECT_EQ(onward("predict run --data new.csv").out, single.out);
}

TEST_F(PredictRun, SaysWhatIsWrong) {
  sample("y ~ x + f + (1 | g)", "gaussian", "--keep-groups none");
  cannot("predict run", {"did not keep r(g)Intercept[g0]", "--keep-groups all"});
  put("new.csv", "x,f,g\n0,d,g1\n");
  cannot("predict run --data new.csv", {"new.csv:2: f is \"d\""});
  put("new.csv", "x2,f,g\n0,a,g1\n");
  refuses(2, split("predict run --data new.csv"), {"x"});
  cannot("predict run --data nowhere.csv", {"nowhere.csv"});
  cannot("predict nothing", {"nothing"});
  wrong_usage("predict run --what fited", {"fited", "fitted"});
  wrong_usage("predict run --interval 90", {"--interval is 90"});
  wrong_usage("predict run --new-levels guess", {"guess", "refuse or draw"});
  wrong_usage("predict run --draws x.txt", {"x.txt", ".npy or .csv"});
  put("data.csv", get(path("data.csv")) + "1,1,4,0,a,g1,low\n");
  cannot("predict run", {"data.csv has changed"});
  ASSERT_EQ(onward("sample eight-schools --draws 50 --seed 1 --out schools --quiet").code, 0);
  cannot("predict schools", {"eight-schools", "formula"});
}

}  // namespace
}  // namespace onward::testing
