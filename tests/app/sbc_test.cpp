// `onward sbc`: its table, JSON and picture, and what it refuses.

#include "regression_program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class SbcRun : public RegressionProgram {
 protected:
  Words words(const std::string& formula, const std::string& family, const Words& more) const {
    Words all{"sbc", "--data", "data.csv", "--formula", formula, "--family", family};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(SbcRun, TellsRightPriorsFromWrongOnes) {
  const Words usual{
      "--prior", "b ~ normal(0, 1)", "--prior", "Intercept ~ normal(0, 1)", "--replicates", "40", "--draws",
      "31",      "--quiet"};
  Words right = words("s | trials(n) ~ x", "binomial", usual);
  right.insert(right.end(), {"--picture", "ranks.png"});
  const Outcome good = onward(right);
  ASSERT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("All 2 histograms are within their 99.9% bands."));
  EXPECT_THAT(good.out, HasSubstr("x ~ normal(0, 1)"));
  EXPECT_EQ(get(path("ranks.png")).substr(1, 3), "PNG");
  refuses(1, right, {"ranks.png exists already", "--force"});

  Words wrong = words("s | trials(n) ~ x", "binomial", usual);
  wrong.insert(wrong.end(), {"--simulate-prior", "b[x] ~ normal(5, 1)"});
  const Outcome bad = onward(wrong);
  EXPECT_EQ(bad.code, 0) << bad.err;
  EXPECT_THAT(bad.out, HasSubstr("Outside of their 99.9% band: (Intercept), x."));
  wrong.emplace_back("--json");
  const json found = json::parse(onward(wrong).out);
  EXPECT_EQ(found.at("within"), false);
  EXPECT_EQ(found.at("parameters").at(1).at("within"), false);
  EXPECT_EQ(found.at("parameters").at(1).at("ranks").size(), 40U);
}

TEST_F(SbcRun, SaysWhatIsWrong) {
  refuses(2, words("y ~ x", "gaussian", {"--replicates", "3"}), {"--replicates is 3"});
  refuses(2, words("y ~ x", "gaussian", {"--draws", "100", "--replicates", "20"}), {"--draws is 100", "127"});
  refuses(2, words("y ~ x", "gaussian", {"--prior", "flat"}), {"flat", "--prior"});
  refuses(2, words("c ~ x", "categorical", {}), {"--family categorical"});
  refuses(2, words("y ~ x +", "gaussian", {}), {"^"});
  refuses(2, words("y ~ z", "gaussian", {}), {"z"});
  refuses(2, words("y ~ x", "gaussian", {"--simulate-prior", "b[z] ~ normal(0, 1)"}), {"z"});
}

}  // namespace
}  // namespace onward::testing
