// Regressions from a table and a formula: `onward glm`.

#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "onward/io/stan_csv.hpp"
#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Formula : public Program {
 protected:
  static constexpr std::size_t rows = 240;

  /// y = 2 + x, more in group "b" of f, with 12 subjects s who differ in level and slope, sigma 1/2.
  void SetUp() override {
    Program::SetUp();
    const Stream stream(5, 0);
    std::vector<double> x(rows), noise(rows), levels(12), slopes(12);
    stream.normals(0, Purpose::noise, x);
    stream.normals(1, Purpose::noise, noise);
    stream.normals(2, Purpose::noise, levels);
    stream.normals(3, Purpose::noise, slopes);
    std::ofstream out(path("table.csv"));
    out << "y,x,f,s,count,yes\n";
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t s = i % 12;
      const bool b = i % 5 == 0;
      const double y = 2 + x[i] + (b ? 0.7 : 0) + levels[s] + 0.3 * slopes[s] * x[i] + 0.5 * noise[i];
      out << fmt::format("{:.6f},{:.6f},{},s{:02},{},{}\n", y, x[i], b ? "b" : "a", s,
                         std::floor(std::exp(std::min(0.4 * y, 3.0))), y > 2 ? "yes" : "no");
    }
  }

  Outcome glm(const std::string& formula, const Words& more = {}) const {
    Words words{"glm", "--data", "table.csv", "--formula", formula, "--seed", "1", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return onward(words);
  }
  json sampled(const std::string& formula, Words more) const {
    more.insert(more.end(), {"--out", "none", "--json"});
    const Outcome outcome = glm(formula, more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }
  static std::vector<std::string> names(const json& result) {
    std::vector<std::string> list;
    for (const auto& p : result.at("parameters")) list.push_back(p.at("name"));
    return list;
  }
  void wrong(int code, const std::string& formula, const Words& more, const Words& pieces) const {
    Words words{"glm", "--data", "table.csv", "--formula", formula, "--out", "none"};
    words.insert(words.end(), more.begin(), more.end());
    refuses(code, words, pieces);
  }
};

TEST_F(Formula, NamesAndFindsWhatWasPutIn) {
  const json result =
      sampled("y ~ x + f + (x | s)", {"--family", "gaussian", "--keep-groups", "none", "--draws", "1000"});
  EXPECT_THAT(names(result), ElementsAre("(Intercept)", "x", "fb", "sd(s)Intercept", "sd(s)x",
                                         "cor(s)Intercept.x", "sigma"));
  const auto& p = result.at("parameters");
  EXPECT_NEAR(p[2]["mean"], 0.7, 5 * p[2]["sd"].get<double>());
  EXPECT_NEAR(p[6]["mean"], 0.5, 5 * p[6]["sd"].get<double>());
  EXPECT_LT(result["max_rhat"], 1.02);
}

TEST_F(Formula, GroupsAndAKernelOnTheWholePosteriorAgree) {
  for (const std::string family : {"bernoulli", "poisson"}) {
    SCOPED_TRACE(family);
    const std::string formula = (family == "poisson" ? "count" : "yes") + std::string(" ~ x + (1 | s)");
    const Words priors{"--family", family, "--prior", "b ~ normal(0, 1)", "--prior", "sd(s) ~ exponential(1)",
                       "--draws",  "2000"};
    Words kernel = priors;
    kernel.insert(kernel.end(), {"--sampler", "mala", "--warmup", "3000", "--thin", "10"});
    const json ours = sampled(formula, priors), other = sampled(formula, kernel);
    for (std::size_t i = 0; i < ours.at("parameters").size(); ++i) {
      const json &p = ours["parameters"][i], &q = other["parameters"][i];
      const double error = std::hypot(p["mcse_mean"].get<double>(), q["mcse_mean"].get<double>());
      EXPECT_NEAR(p["mean"].get<double>(), q["mean"].get<double>(), 5.5 * error) << p["name"];
      EXPECT_NEAR(p["sd"].get<double>() / q["sd"].get<double>(), 1, 0.15) << p["name"];
    }
  }
}

TEST_F(Formula, ResumedAndOnOtherThreadsTheSameBits) {
  const Words common{"--family", "bernoulli", "--keep-groups", "3"};
  Words whole = common, half = common, rest{"glm", "--resume", "--out", "half", "--draws", "300", "--quiet"};
  whole.insert(whole.end(), {"--draws", "300", "--out", "whole", "--threads", "1"});
  half.insert(half.end(), {"--draws", "120", "--out", "half", "--threads", "2"});
  ASSERT_EQ(glm("yes ~ x + (x | s) + (1 | f)", whole).code, 0);
  ASSERT_EQ(glm("yes ~ x + (x | s) + (1 | f)", half).code, 0);
  const Outcome resumed = onward(rest);
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  for (const char* file : {"chain-1.csv", "chain-4.csv"})
    EXPECT_EQ(get(path(std::string("whole/") + file)), get(path(std::string("half/") + file)));
  ASSERT_EQ(onward("glm --from whole --out again --quiet").code, 0);
  EXPECT_EQ(get(path("again/chain-2.csv")), get(path("whole/chain-2.csv")));
  ASSERT_EQ(onward("sample funnel --dim 2 --sampler mala --draws 20 --quiet --out other").code, 0);
  cannot("glm --from other --out more", {"of the model funnel, not glm", "`onward sample`"});
}

TEST_F(Formula, ShowsGroupsWhenAsked) {
  const Outcome plain = glm("y ~ x + (1 | s)", {"--family", "gaussian", "--draws", "200", "--out", "none"});
  EXPECT_THAT(plain.out, HasSubstr("and 12 effects of groups"));
  EXPECT_THAT(plain.out, Not(HasSubstr("r(s)Intercept[s03]")));
  const Outcome all =
      glm("y ~ x + (1 | s)", {"--family", "gaussian", "--draws", "200", "--out", "none", "--show", "groups"});
  EXPECT_THAT(all.out, HasSubstr("r(s)Intercept[s03]"));
}

TEST_F(Formula, WarnsOfWhatTheTableShowsAndCountsLevelsApart) {
  const Words few{"--family", "gaussian", "--draws", "20", "--out", "none"};
  const auto told = [&](const Words& more) {
    Words words{"glm", "--data", "table.csv", "--formula", "y ~ x + (1 | s)", "--seed", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return onward(words);
  };
  const Outcome plain = told(few);
  EXPECT_THAT(plain.err, HasSubstr("warning: "));
  EXPECT_THAT(plain.err, Not(HasSubstr("r(s)Intercept")));
  EXPECT_THAT(plain.err, HasSubstr("note: of the 12 effects of groups, "));
  Words all = few;
  all.insert(all.end(), {"--show", "groups"});
  EXPECT_THAT(told(all).err, Not(HasSubstr("effects of groups")));
}

TEST_F(Formula, PriorsInWordsCount) {
  const json tight = sampled("y ~ x", {"--family", "gaussian", "--prior", "b[x] ~ normal(0, 0.0001)"});
  EXPECT_NEAR(tight["parameters"][1]["mean"], 0, 0.001);
  const json both = sampled("y ~ x", {"--family", "gaussian", "--prior", "b[x] ~ normal(0, 0.0001)",
                                      "--prior", "sigma ~ normal(0, 0.1)"});
  EXPECT_NEAR(both["parameters"][1]["mean"], 0, 0.001);  // the first of two counts too
  EXPECT_LT(both["parameters"][2]["mean"], tight["parameters"][2]["mean"].get<double>() - 0.01);
  const json cauchy = sampled(
      "y ~ x", {"--family", "gaussian", "--prior", "b ~ cauchy(0, 2)", "--prior", "sigma ~ exponential(1)"});
  EXPECT_NEAR(cauchy["parameters"][1]["mean"], 1, 0.5);
}

/// A prior that nothing would come of is no prior that a user wants to have given.
TEST_F(Formula, PriorsOfNothingAreRefused) {
  const auto refused = [&](const std::string& formula, const Words& more, const Words& pieces) {
    Words words{"--family", "gaussian"};
    words.insert(words.end(), more.begin(), more.end());
    wrong(2, formula, words, pieces);
  };
  refused("y ~ x", {"--sigma", "1", "--prior", "sigma ~ exponential(1)"},
          {"sigma ~ exponential(1)", "--sigma is 1", "leave one of them out"});
  refused("y ~ x", {"--sigma", "1", "--prior-scale", "normal:1"}, {"--prior-scale", "--sigma is 1"});
  refused("y ~ 0 + x", {"--prior-intercept", "normal:1"}, {"--prior-intercept", "there is none"});
  refused("y ~ 0 + x", {"--prior", "Intercept ~ normal(0, 1)"}, {"there is none"});
  refused("y ~ x", {"--prior", "b~normal(0,1)x"}, {"'x' after the closing parenthesis"});
  refused("y ~ x", {"--prior", "b~normal(0,1"}, {"a closing parenthesis is missing"});
  refused("y ~ x", {"--prior", "b = normal(0, 1)"}, {"'=' where '~' is due", "b ~ normal(0, 2.5)"});
  refused("y ~ x", {"--prior", "b[`x] ~ normal(0, 1)"}, {"a closing '`' is missing"});
}

TEST_F(Formula, TheMoreSpecificPriorWins) {
  const auto priors = [&](const std::string& formula, const Words& statements) {
    Words words{"--family", "gaussian", "--draws", "20", "--out", "none"};
    for (const std::string& one : statements) words.insert(words.end(), {"--prior", one});
    return glm(formula, words).out;
  };
  EXPECT_THAT(priors("y ~ x", {"b[x] ~ normal(0, 3)", "b ~ normal(0, 7)"}), HasSubstr("x ~ normal(0, 3)"));
  EXPECT_THAT(priors("y ~ x", {"b ~ normal(0, 7)", "b ~ normal(0, 8)"}), HasSubstr("x ~ normal(0, 8)"));
  EXPECT_THAT(priors("y ~ x", {"normal:7", "normal:8"}), HasSubstr("x ~ normal(0, 8)"));
  const std::string groups = priors("y ~ x + (x | s)", {"sd(s)[x] ~ exponential(3)", "sd ~ exponential(7)"});
  EXPECT_THAT(groups, HasSubstr("sd(s)Intercept ~ exponential(7)"));
  EXPECT_THAT(groups, HasSubstr("sd(s)x ~ exponential(3)"));
}

TEST_F(Formula, APriorOfAnEarlierRunIsToldAsSuch) {
  ASSERT_EQ(glm("y ~ x + f",
                {"--family", "gaussian", "--draws", "20", "--prior", "b[fb] ~ normal(0, 1)", "--out", "run"})
                .code,
            0);
  const Words again{"glm", "--from", "run", "--formula", "y ~ x", "--out", "none"};
  refuses(2, again, {"b[fb] ~ normal(0, 1)", "is from the run in run", "without --from"});
  Words typed = again;
  typed[4] = "y ~ x + f";
  typed.insert(typed.end(), {"--prior", "b[z] ~ normal(0, 1)"});
  refuses(2, typed, {"b[z] ~ normal(0, 1)"});
  EXPECT_THAT(onward(typed).err, Not(HasSubstr("is from the run")));
}

TEST_F(Formula, NamesThatNeedBackquotesHavePriorsToo) {
  put("odd.csv", "y,a]b,b~c,\"u\nv\"\n1,2,3,5\n2,5,3,1\n3,1,2,2\n2,2,7,1\n5,3,1,4\n4,6,2,2\n");
  const Outcome outcome =
      onward({"glm", "--data", "odd.csv", "--formula", "y ~ `a]b` + `b~c` + .", "--family", "gaussian",
              "--prior", "b[`a]b`] ~ normal(0, 3)", "--prior", "b[b~c] ~ normal(0, 7)", "--draws", "20",
              "--seed", "1", "--out", "none", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("`a]b` ~ normal(0, 3); `b~c` ~ normal(0, 7)"));
  // And a name with a line end is no line end of the output.
  EXPECT_THAT(outcome.out, HasSubstr("u\\nv` ~ "));
}

TEST_F(Formula, NotesWhatGroupsAndCoefficientsCannotShare) {
  const auto told = [&](const std::string& formula, const Words& more = {}) {
    Words words{"glm",     "--data", "table.csv", "--formula", formula, "--family", "gaussian",
                "--draws", "20",     "--seed",    "1",         "--out", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return onward(words).err;
  };
  EXPECT_THAT(told("y ~ s + (1 | s)"), HasSubstr("the factor s has coefficients of its own"));
  EXPECT_THAT(told("y ~ factor(count) + (1 | count)"), HasSubstr("the factor count has coefficients"));
  for (const char* fine : {"y ~ s + (0 + x | s)", "y ~ count + (1 | count)", "y ~ f + (1 | s)"})
    EXPECT_THAT(told(fine), Not(HasSubstr("coefficients of its own"))) << fine;
  const std::string none = "--show groups has nothing to show";
  EXPECT_THAT(told("y ~ x + (1 | s)", {"--keep-groups", "none", "--show", "groups"}), HasSubstr(none));
  EXPECT_THAT(told("y ~ x", {"--show", "groups"}), HasSubstr(none));
  EXPECT_THAT(told("y ~ x + (1 | s)", {"--show", "groups"}), Not(HasSubstr(none)));
}

TEST_F(Formula, RefusesWhatMakesNoSense) {
  const Words gaussian{"--family", "gaussian"};
  wrong(2, "y ~ xx", gaussian, {"table.csv has no column xx", "Did you mean x?"});
  wrong(2, "y ~ x +", gaussian, {"^"});
  wrong(1, "f ~ x", gaussian, {"table.csv:2", "\"b\"", "gaussian family needs numbers"});
  wrong(1, "y ~ x", {"--family", "poisson"}, {"table.csv:2", "poisson"});
  wrong(2, "y ~ x", {"--family", "binomial"}, {"trials"});
  wrong(2, "y ~ x", {"--family", "gaussian", "--prior", "b ~ norml(0, 1)"}, {"norml", "normal"});
  wrong(2, "y ~ x", {"--family", "gaussian", "--prior", "b[z] ~ normal(0, 1)"}, {"z", "Columns: x"});
  wrong(2, "y ~ x", {"--family", "gaussian", "--prior", "sd(g) ~ normal(0, 1)"}, {"no groups"});
  wrong(2, "y ~ x + (1 | s)", {"--family", "gaussian", "--prior", "sd(t) ~ normal(0, 1)"},
        {"sd(t)", "Groups: s"});
  wrong(2, "y ~ x", {"--family", "gaussian", "--keep-groups", "all"}, {"--keep-groups"});
  wrong(2, "y ~ x", {"--family", "gaussian", "--x", "x.npy"}, {"--x"});
  refuses(2, {"glm", "--data", "table.csv", "--family", "gaussian", "--out", "none"}, {"--formula"});
  refuses(1, {"glm", "--data", "gone.csv", "--formula", "y ~ x", "--family", "gaussian", "--out", "none"},
          {"gone.csv"});
}

TEST_F(Formula, TakesGroupsOfOneRowEach) {
  std::ofstream out(path("single.csv"));
  out << "n,id\n";
  for (int i = 0; i < 300; ++i) out << i * i % 7 << ",i" << i << "\n";
  out.close();
  const Outcome outcome = onward({"glm", "--data", "single.csv", "--formula", "n ~ 1 + (1 | id)", "--family",
                                  "poisson", "--draws", "200", "--seed", "1", "--out", "none"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("sd(id)Intercept"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("one row")));
  // A gaussian level of one row is no different from its residual.
  const Outcome gaussian = onward({"glm", "--data", "single.csv", "--formula", "n ~ 1 + (1 | id)", "--family",
                                   "gaussian", "--draws", "100", "--seed", "1", "--out", "none"});
  EXPECT_EQ(gaussian.code, 0) << gaussian.err;
  EXPECT_THAT(gaussian.err, HasSubstr("every level of id has one row"));
}

/// Intercepts and slopes of groups are then tied to each other, and chains could stay where there are none.
/// With `||` and a column as far away as a year it is the model itself that holds slopes near 0.
TEST_F(Formula, SlopesOfColumnsFarFromZeroAreFound) {
  const json near = sampled("y ~ x + (x | s)", {"--family", "gaussian"});
  const auto value = [](const json& result, const std::string& name, const char* what) {
    for (const auto& p : result.at("parameters"))
      if (p.at("name") == name) return p.at(what).get<double>();
    ADD_FAILURE() << name;
    return 0.0;
  };
  for (const std::string bar : {"|", "||"}) {
    const json far = sampled("y ~ I(x + 8) + (I(x + 8) " + bar + " s)", {"--family", "gaussian"});
    EXPECT_LT(far.at("max_rhat").get<double>(), 1.05);
    EXPECT_NEAR(value(far, "sigma", "mean"), value(near, "sigma", "mean"), 0.02);
    EXPECT_NEAR(value(far, "sd(s)I(x + 8)", "mean"), value(near, "sd(s)x", "mean"), 0.1);
  }
  const Outcome told = onward({"glm", "--data", "table.csv", "--formula", "y ~ x + (I(x + 8) | s)",
                               "--family", "gaussian", "--draws", "100", "--seed", "1", "--out", "none"});
  EXPECT_THAT(told.err, HasSubstr("I(x + 8) is far from 0 in all rows"));
}

TEST_F(Formula, NamesTheLineOfTextInANumericResponse) {
  std::ofstream(path("text.csv")) << "y,x\n1,2\nthree,3\n4,5\n";
  refuses(1, {"glm", "--data", "text.csv", "--formula", "y ~ x", "--family", "gaussian", "--out", "none"},
          {"text.csv:3", "\"three\"", "missing values"});
  // As spreadsheets of many countries write them: all with commas, or only those that need one.
  put("commas.csv", "y;x\n1,5;2\n2,5;3\n4,0;5\n");
  put("some.csv", "y;x\n1;2\n2,5;3\n4;5\n");
  for (const auto& [file, line, word] :
       {std::tuple{"commas.csv", "commas.csv:2", "\"1,5\""}, {"some.csv", "some.csv:3", "\"2,5\""}})
    refuses(1, {"glm", "--data", file, "--formula", "y ~ x", "--family", "gaussian", "--out", "none"},
            {line, word, "decimal points"});
}

TEST_F(Formula, NewLevelsAndEqualNamesAreToldWithARemedy) {
  ASSERT_EQ(glm("y ~ f", {"--family", "gaussian", "--draws", "20", "--out", "run"}).code, 0);
  put("new.csv", "f\na\nc\n");
  cannot("predict run --data new.csv", {"new.csv:3", "\"c\"", "leave such rows out"});
  put("twice.csv", "y,x,x\n1,2,3\n");
  refuses(1, {"glm", "--data", "twice.csv", "--formula", "y ~ x", "--family", "gaussian", "--out", "none"},
          {"columns 2 and 3 both have the name x", "Rename"});
}

/// Effects of levels are judged by a note of their own, here as after the run.
TEST_F(Formula, LaterCommandsJudgeARunByWhatItsTableShows) {
  ASSERT_EQ(glm("y ~ x + (1 | s)", {"--family", "gaussian", "--draws", "200", "--out", "run"}).code, 0);
  json summary = json::parse(get(path("run/summary.json")));
  EXPECT_EQ(summary.at("shown").at("parameters"), 4);
  double largest = 0;
  for (std::size_t i = 0; i < 4; ++i)
    largest = std::max(largest, summary["parameters"][i]["rhat"].get<double>());
  EXPECT_EQ(summary.at("shown").at("max_rhat"), largest);
  summary["max_rhat"] = 1.5;
  summary["shown"]["max_rhat"] = 1.0;
  put("run/summary.json", summary.dump());
  EXPECT_THAT(onward("loo run").err, Not(HasSubstr("have not mixed")));
  summary["shown"]["max_rhat"] = 1.2;
  put("run/summary.json", summary.dump());
  EXPECT_THAT(onward("loo run").err, HasSubstr("have not mixed (R-hat 1.200)"));
}

}  // namespace
}  // namespace onward::testing
