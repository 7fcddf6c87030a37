// `onward effects`: files, pictures, and what it refuses.

#include "regression_program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using EffectsRun = RegressionProgram;

TEST_F(EffectsRun, WritesAFileAndAPictureForEachPredictor) {
  sample("y ~ x * f + (1 | g)", "gaussian");
  const Outcome outcome = onward("effects run --json --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json effects = json::parse(outcome.out).at("effects");
  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(effects.at(0).at("held"), "f = a");
  const auto x = lines(get(path("run/effects/x.csv")));
  EXPECT_THAT(x[0], ElementsAre("x", "mean", "sd", "q5", "q50", "q95"));
  ASSERT_EQ(x.size(), 101U);
  EXPECT_EQ(x[1][0], "-1");
  EXPECT_EQ(x[100][0], "1.75");
  EXPECT_NEAR((std::stod(x[100][1]) - std::stod(x[1][1])) / 2.75, 2,
              0.5);  // the slope that data were made with
  const auto f = lines(get(path("run/effects/f.csv")));
  ASSERT_EQ(f.size(), 4U);
  EXPECT_EQ(f[2][0], "b");
  const auto both = lines(get(path("run/effects/x-f.csv")));
  EXPECT_THAT(both[0], ElementsAre("x", "f", "mean", "sd", "q5", "q50", "q95"));
  EXPECT_EQ(both.size(), 301U);
  for (const char* name : {"x", "f", "x-f"})
    EXPECT_THAT(get(path("run/effects/" + std::string(name) + ".png")).substr(1, 3), "PNG");
  EXPECT_EQ(onward("effects run f --out elsewhere --quiet").code, 0);
  EXPECT_EQ(get(path("elsewhere/f.csv")), get(path("run/effects/f.csv")));
}

TEST_F(EffectsRun, EqualsPredictionsOfTheGrid) {
  sample("s | trials(n) ~ log(x + 3) + f", "binomial");
  ASSERT_EQ(onward("effects run x --quiet").code, 0);
  put("new.csv", "x,f\n-1,a\n1.75,a\n");
  const auto predicted = lines(onward("predict run --data new.csv --quiet").out);
  const auto effect = lines(get(path("run/effects/x.csv")));
  EXPECT_EQ(Words(predicted[1].begin() + 1, predicted[1].end()),
            Words(effect[1].begin() + 1, effect[1].end()));
  EXPECT_EQ(Words(predicted[2].begin() + 1, predicted[2].end()),
            Words(effect[100].begin() + 1, effect[100].end()));
}

TEST_F(EffectsRun, FindsPairsInsideTermsAndSaysWhereOffsetsAreHeld) {
  sample("y ~ log(x + 3) * f + I(x^2):f + offset(log(n))", "gaussian");
  const Outcome outcome = onward("effects run --json --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json effects = json::parse(outcome.out).at("effects");
  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(effects.at(2).at("term"), "x:f");
  EXPECT_EQ(effects.at(2).at("by"), "f");
  for (const json& effect : effects) EXPECT_THAT(effect.at("held").get<std::string>(), HasSubstr("n = "));
  EXPECT_THAT(effects.at(2).at("held").get<std::string>(), HasSubstr("(offset)"));
}

TEST_F(EffectsRun, SaysWhatIsWrong) {
  sample("y ~ x + (1 | g)", "gaussian", "--keep-groups none");
  EXPECT_EQ(onward("effects run --quiet").code, 0);  // groups count for nothing
  wrong_usage("effects run z", {"the term z is not there", "Its predictors are x"});
  wrong_usage("effects run g", {"g is no population-level predictor"});
  wrong_usage("effects run x:f", {"f is no population-level predictor"});
  wrong_usage("effects run --interval 1", {"--interval is 1"});
  cannot("effects nothing", {"nothing"});
  put("blocked", "a file");
  cannot("effects run --out blocked/folder", {"blocked/folder", "--out"});
  std::filesystem::remove_all(path("run"));
  sample("y ~ 1 + (1 | g)", "gaussian");
  cannot("effects run", {"has no population-level predictors"});
}

}  // namespace
}  // namespace onward::testing
