// `onward hypothesis`: what is reported, and what is said of texts that make no sense.

#include "glm_program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class HypothesisRun : public Glm {
 protected:
  void SetUp() override {
    Glm::SetUp();
    put("names.txt", "age\nfactor(k)2\n");
    const Outcome outcome = onward(
        "sample glm --x x.npy --y measured.npy --family gaussian --names names.txt --draws 500 --seed 1 "
        "--format csv,netcdf --quiet --out run");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  json asked(const Words& texts) const {
    Words words{"hypothesis", "run", "--json", "--quiet"};
    words.insert(words.end(), texts.begin(), texts.end());
    const Outcome outcome = onward(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out).at("hypotheses") : json();
  }
};

TEST_F(HypothesisRun, FiguresAreThoseOfTheSummary) {
  const json answers =
      asked({"age > 0", "`factor(k)2` < 0", "factor(k)2 = -0.5", "2 * age - 1 >= log(sigma)"});
  const json parameters = json_file("run/summary.json").at("parameters");
  for (const std::size_t i : {0U, 1U}) {
    const json& parameter = parameters.at(i + 1);
    for (const char* figure : {"sd", "q5", "q95", "mcse_mean"})
      EXPECT_NEAR(answers.at(i).at(figure), parameter.at(figure), 1e-12) << figure;
    EXPECT_NEAR(answers.at(i).at("estimate"), parameter.at("mean"), 1e-12);
    EXPECT_EQ(answers.at(i).at("probability"), 1);
    EXPECT_TRUE(answers.at(i).at("mcse_probability").is_null());
    EXPECT_LT(answers.at(i).at("bound_of_error"), 0.01);
  }
  EXPECT_FALSE(answers.at(2).contains("probability"));
  EXPECT_NEAR(answers.at(2).at("estimate"), parameters.at(2).at("mean").get<double>() + 0.5, 1e-12);
  EXPECT_EQ(answers.at(2).at("zero_in_95"), answers.at(2).at("q2_5") <= 0 && answers.at(2).at("q97_5") >= 0);
  EXPECT_EQ(answers.at(3).at("hypothesis"), "2 * age - 1 >= log(sigma)");
}

TEST_F(HypothesisRun, ReadsNetcdfAndAnyModel) {
  const json by_csv = asked({"age > 1", "sigma < 0.7"});
  for (int chain = 1; chain <= 4; ++chain)
    std::filesystem::remove(path("run/chain-" + std::to_string(chain) + ".csv"));
  EXPECT_EQ(asked({"age > 1", "sigma < 0.7"}), by_csv);
  const double p = by_csv.at(0).at("probability");
  EXPECT_NEAR(by_csv.at(0).at("evidence_ratio"), p / (1 - p), 1e-9);
  ASSERT_EQ(onward("sample eight-schools --seed 1 --draws 100 --quiet --out schools").code, 0);
  const Outcome outcome = onward(Words{"hypothesis", "schools", "theta.1 > theta.2", "mu = 0", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("evidence ratio"), HasSubstr("theta.1 > theta.2"), HasSubstr("0 in 95%")));
}

TEST_F(HypothesisRun, AMinusAtTheBeginningIsNoOption) {
  EXPECT_EQ(asked({"-age < 0"}).at(0).at("probability"), 1);
  const Outcome outcome = onward(Words{"hypothesis", "run", "-age < 0", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(asked({"--", "-age < 0"}).at(0).at("probability"), 1);
}

TEST_F(HypothesisRun, WrongTextsAreShownWithACaret) {
  refuses(2, {"hypothesis", "run", "aeg > 0"},
          {"no parameter 'aeg'. Did you mean age?", "\n  aeg > 0\n  ^\n"});
  refuses(2, {"hypothesis", "run", "age > 0", "age + > 0"}, {"\n  age + > 0\n        ^"});
  refuses(2, {"hypothesis", "run", "age"}, {"a sign >", "\n  age\n     ^"});
  refuses(2, {"hypothesis", "run", std::string(10'000, '(') + "age > 0"}, {"nested more than 200 deep", "^"});
  refuses(2, {"hypothesis", "run"}, {"HYPOTHESIS is missing"});
  refuses(2, {"hypothesis", "run", "age > 0", "--jsn"}, {"--jsn", "--json"});
  refuses(1, {"hypothesis", "run", "log(age - 1) > 0"},
          {"log(age - 1) > 0: it has no finite value at", "draws"});
  refuses(1, {"hypothesis", "nowhere", "age > 0"}, {"nowhere"});
}

TEST_F(HypothesisRun, SaysWhenTheRunIsNotToBeTrusted) {
  std::string text = get(path("run/summary.json"));
  const auto at = text.find("\"max_rhat\"");
  ASSERT_NE(at, std::string::npos);
  put("run/summary.json", text.replace(at, text.find(',', at) - at, "\"max_rhat\": 1.5"));
  EXPECT_THAT(onward(Words{"hypothesis", "run", "age > 0"}).err, HasSubstr("have not mixed (R-hat 1.500)"));
}

}  // namespace
}  // namespace onward::testing
