// student-t, ordinal and zero-inflated-poisson from a table to what is done with a run: names, samplers that
// agree, resuming, predictions, effects, leave-one-out, calibration, and what is refused.

#include <fmt/format.h>

#include <cmath>

#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Families : public Program {
 protected:
  /// 150 rows in 6 groups: measurements with some far out, ordered classes as numbers and words, and counts
  /// with many zeros.
  void SetUp() override {
    Program::SetUp();
    const Stream stream(17, 0);
    std::string text = "t,k,word,count,x,g\n";
    for (std::size_t i = 0; i < 150; ++i) {
      const double x = stream.normal(0, Purpose::noise, i), u = stream.uniform(1, Purpose::noise, i);
      const double z = stream.normal(2, Purpose::noise, i), v = stream.uniform(3, Purpose::noise, i);
      const double eta = 0.4 + 0.8 * x + 0.5 * stream.normal(4, Purpose::noise, i % 6);
      const double latent = eta + std::log(u / (1 - u));
      const int k = 1 + (latent > -0.7 ? 1 : 0) + (latent > 0.6 ? 1 : 0) + (latent > 2 ? 1 : 0);
      const double count = v < 0.3 ? 0 : std::floor(-std::log(u) * std::exp(0.5 * eta) + 0.5);
      text += fmt::format("{:.4f},{},{},{},{:.4f},g{}\n", eta + (v < 0.1 ? 4 : 0.5) * z, k,
                          std::array{"poor", "fair", "good", "best"}[static_cast<std::size_t>(k - 1)], count,
                          x, i % 6);
    }
    put("table.csv", text);
  }

  Words words(const std::string& formula, const std::string& family, const std::string& more) const {
    Words all{"glm", "--data", "table.csv", "--formula", formula, "--family", family};
    for (const auto& word : split("--seed 1 --quiet " + more)) all.push_back(word);
    if (family == "ordinal" && formula.starts_with("word"))
      all.insert(all.end(), {"--levels", "word=poor,fair,good,best"});
    return all;
  }
  json sampled(const std::string& formula, const std::string& family, const std::string& more = "") const {
    const Outcome outcome = onward(words(formula, family, "--json --out none " + more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }
  static Words names(const json& result) {
    Words all;
    for (const auto& one : result.at("parameters")) all.push_back(one.at("name"));
    return all;
  }
  static void expect_same(const json& a, const json& b) {
    ASSERT_EQ(names(a), names(b));
    for (std::size_t i = 0; i < a.at("parameters").size(); ++i) {
      const json &p = a["parameters"][i], &q = b["parameters"][i];
      const double error = std::hypot(p["mcse_mean"].get<double>(), q["mcse_mean"].get<double>());
      EXPECT_NEAR(p["mean"].get<double>(), q["mean"].get<double>(), 5.5 * error) << p["name"];
      EXPECT_NEAR(p["sd"].get<double>() / q["sd"].get<double>(), 1, 0.2) << p["name"];
    }
  }
};

TEST_F(Families, NamesAreThoseOfBrms) {
  EXPECT_THAT(names(sampled("t ~ x + (1 | g)", "student-t", "--draws 100 --keep-groups none")),
              ElementsAre("(Intercept)", "x", "sd(g)Intercept", "sigma", "nu"));
  EXPECT_THAT(names(sampled("count ~ x", "zero-inflated-poisson", "--draws 100")),
              ElementsAre("(Intercept)", "x", "zi"));
  EXPECT_THAT(names(sampled("t ~ x", "student-t", "--draws 100 --nu 4")),
              ElementsAre("(Intercept)", "x", "sigma"));
  const json ordinal = sampled("word ~ x + (1 | g)", "ordinal", "--draws 500 --keep-groups none");
  EXPECT_THAT(names(ordinal),
              ElementsAre("Intercept[1]", "Intercept[2]", "Intercept[3]", "x", "sd(g)Intercept"));
  const auto& p = ordinal.at("parameters");
  EXPECT_LT(p[0]["mean"], p[1]["mean"]);
  EXPECT_LT(p[1]["mean"], p[2]["mean"]);
  EXPECT_NEAR(p[3]["mean"], 0.8, 5 * p[3]["sd"].get<double>());
}

TEST_F(Families, OwnSamplersAndKernelsAgree) {
  for (const auto& [formula, family] : {std::pair{"t ~ x", "student-t"},
                                        {"k ~ x", "ordinal"},
                                        {"count ~ x", "zero-inflated-poisson"},
                                        {"t ~ x + (1 | g)", "student-t"},
                                        {"word ~ x + (1 | g)", "ordinal"},
                                        {"count ~ x + (1 | g)", "zero-inflated-poisson"}}) {
    SCOPED_TRACE(formula);
    const std::string usual = "--draws 2000 --prior b~normal(0,1);sd~exponential(1) --keep-groups none ";
    const bool groups = std::string(formula).find('|') != std::string::npos;
    const std::string priors = groups ? usual : "--draws 2000 ";
    const std::string kernel =
        groups ? "--sampler mala --warmup 3000 --thin 10" : "--sampler newton-line --warmup 2000";
    expect_same(sampled(formula, family, priors), sampled(formula, family, priors + kernel));
  }
}

TEST_F(Families, ResumedAndOnOtherThreadsTheSameBits) {
  for (const auto& [formula, family] : {std::pair{"t ~ x", "student-t"},
                                        {"word ~ x + (1 | g)", "ordinal"},
                                        {"count ~ x + (1 | g)", "zero-inflated-poisson"}}) {
    SCOPED_TRACE(family);
    ASSERT_EQ(onward(words(formula, family, "--draws 200 --threads 1 --force --out whole")).code, 0);
    ASSERT_EQ(onward(words(formula, family, "--draws 80 --threads 2 --force --out half")).code, 0);
    const Outcome resumed = onward("sample --resume --out half --draws 200 --quiet");
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(get(path("whole/chain-3.csv")), get(path("half/chain-3.csv")));
  }
}

TEST_F(Families, OrderedClassesArePredicted) {
  ASSERT_EQ(onward(words("word ~ x + (1 | g)", "ordinal", "--draws 200 --out run")).code, 0);
  put("new.csv", "x,g\n0.5,g1\n");
  const auto rows = [&](const std::string& more) {
    std::vector<std::pair<std::string, double>> found;
    std::istringstream in(onward("predict run --data new.csv --quiet " + more).out);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      const auto comma = line.find(','), second = line.find(',', comma + 1);
      found.emplace_back(line.substr(comma + 1, second - comma - 1), std::stod(line.substr(second + 1)));
    }
    return found;
  };
  const auto fitted = rows(""), predicted = rows("--what predictive");
  ASSERT_EQ(fitted.size(), 4U);
  EXPECT_EQ(fitted[0].first, "poor");
  EXPECT_EQ(fitted[3].first, "best");
  double total = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    total += fitted[k].second;
    EXPECT_NEAR(fitted[k].second, predicted[k].second, 0.12);
  }
  EXPECT_NEAR(total, 1, 1e-6);
  EXPECT_EQ(rows("--what linear").size(), 1U);
  EXPECT_EQ(onward("effects run --quiet").code, 0);
  const Outcome loo = onward("loo run --quiet");
  EXPECT_EQ(loo.code, 0) << loo.err;
}

TEST_F(Families, OtherCommandsKnowThem) {
  for (const auto& [formula, family] :
       {std::pair{"t ~ x", "student-t"}, {"count ~ x + (1 | g)", "zero-inflated-poisson"}}) {
    SCOPED_TRACE(family);
    ASSERT_EQ(onward(words(formula, family, "--draws 150 --force --out run --format csv,netcdf")).code, 0);
    for (const std::string line : {"predict run --quiet", "predict run --what predictive --quiet",
                                   "effects run --quiet", "loo run --quiet"}) {
      const Outcome outcome = onward(line);
      EXPECT_EQ(outcome.code, 0) << line << ": " << outcome.err;
    }
  }
  ASSERT_EQ(onward(words("k ~ x", "ordinal",
                         "--draws 50 --force --out run --format netcdf --unconstrained --log-likelihood"))
                .code,
            0);
  EXPECT_THAT(onward("summary run/draws.nc --json").out, HasSubstr("Intercept[3]"));
}

TEST_F(Families, PriorsFitTheirSamplers) {
  for (const auto& [formula, family] : {std::pair{"t ~ x + (1 | g)", "student-t"},
                                        {"word ~ x + (1 | g)", "ordinal"},
                                        {"count ~ x + (1 | g)", "zero-inflated-poisson"}}) {
    SCOPED_TRACE(family);
    Words line = words(formula, family, "--replicates 40 --draws 31");
    line[0] = "sbc";
    line.insert(line.end(), {"--prior", "b ~ normal(0, 1)", "--prior", "Intercept ~ normal(0, 1)", "--prior",
                             "sd ~ exponential(2)"});
    const Outcome good = onward(line);
    ASSERT_EQ(good.code, 0) << good.err;
    EXPECT_THAT(good.out, HasSubstr("histograms are within their 99.9% bands."));
  }
}

TEST_F(Families, SayWhatIsWrong) {
  put("bad.csv", "k,count,x,name\n1,0,1,a\n2,1,2,b\n0,2.5,3,c\n3,1,4,a\n");
  const auto wrong = [&](int code, const std::string& formula, const Words& more, const Words& pieces) {
    Words all{"glm", "--data", "bad.csv", "--formula", formula, "--out", "none"};
    all.insert(all.end(), more.begin(), more.end());
    refuses(code, all, pieces);
  };
  wrong(1, "k ~ x", {"--family", "ordinal"}, {"bad.csv:4", "is 0", "class from 1"});
  wrong(1, "count ~ x", {"--family", "zero-inflated-poisson"}, {"bad.csv:4", "2.5", "whole number"});
  wrong(1, "name ~ x", {"--family", "student-t"}, {"name", "bad.csv:2", "needs numbers"});
  wrong(2, "x ~ 0 + count", {"--family", "ordinal"}, {"thresholds in place of an intercept"});
  wrong(2, "x ~ count", {"--family", "student-t", "--nu", "0.5"}, {"--nu is 0.5", "above 1"});
  wrong(2, "x ~ count", {"--family", "gaussian", "--nu", "3"}, {"--nu", "student-t", "not for gaussian"});
  wrong(2, "x ~ count", {"--family", "poisson", "--sigma", "3"}, {"gaussian and student-t"});
  wrong(2, "x ~ k", {"--family", "zero-inflated-poisson", "--zi", "1"}, {"--zi is 1", "between 0 and 1"});
  wrong(2, "x ~ count", {"--family", "student-t", "--prior", "phi ~ exponential(1)"},
        {"phi", "student-t", "sigma and nu"});
  wrong(2, "x ~ count", {"--family", "student-t", "--prior", "sigma ~ beta(1, 1)"}, {"probabilities"});
  wrong(2, "x ~ count", {"--family", "student-t", "--prior", "b ~ gamma(1, 1)"}, {"above 0"});
  wrong(2, "x ~ count", {"--family", "zip"}, {"zero-inflated-poisson"});
  wrong(2, "x ~ count", {"--family", "ordinal", "--link", "probit"}, {"probit", "logit"});
}

}  // namespace
}  // namespace onward::testing
