// `onward bench posteriors`: figures that agree with each other and with the truth, files, and refusals. And
// what a slope needs of memory.

#include <cmath>
#include <map>

#include "program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Posteriors : public Program {
 protected:
  /// The rows by name.
  static std::map<std::string, json> by_name(const std::string& text) {
    std::map<std::string, json> rows;
    const json all = json::parse(text);
    for (const auto& row : all.at("results")) rows[row.at("name")] = row;
    return rows;
  }
};

TEST_F(Posteriors, FiguresAgreeWithEachOtherAndWithTheTruth) {
  const std::string command =
      "bench posteriors --quick --only gaussian-2-100,half-cauchy --samplers rwm,mala,newton-line --budget "
      "20000 --json --quiet";
  const Outcome outcome = onward(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(json::parse(outcome.out).at("case"), "posteriors");
  auto rows = by_name(outcome.out);
  for (const std::string posterior : {"gaussian-2-100", "half-cauchy"})
    for (const std::string sampler : {"rwm", "mala", "newton-line"}) {
      const std::string name = posterior + ", " + sampler + ": ";
      const auto& efficiency = rows.at(name + "min ESS per 1000 evaluations");
      const double ess = 20 * efficiency.at("value").get<double>();
      EXPECT_GT(ess, 100) << name;
      // Errors of at most two quantities in two runs of which the median is the larger: 5.5 standard errors.
      EXPECT_LT(rows.at(name + "largest error of a mean").at("value"), 5.5 / std::sqrt(ess)) << name;
      EXPECT_GT(rows.at(name + "min ESS per second").at("value"), 0) << name;
      if (sampler == "rwm") {
        EXPECT_TRUE(efficiency.at("ratio").is_null());
      } else {
        EXPECT_DOUBLE_EQ(
            efficiency.at("ratio"),
            ess / 20 / rows.at(posterior + ", rwm: min ESS per 1000 evaluations").at("value").get<double>());
      }
    }
  const auto& stay = rows.at("half-cauchy, newton-line: longest stay in 100000 steps");
  EXPECT_EQ(stay.at("met"), stay.at("value").get<double>() <= 500);

  // All but the speed depends on seeds alone.
  const auto again = by_name(onward(command).out);
  for (const auto& [name, row] : rows) {
    if (name.find("per second") != std::string::npos || name.find("price") != std::string::npos) continue;
    EXPECT_EQ(row, again.at(name)) << name;
  }
}

TEST_F(Posteriors, WritesAPageAndReplacesItOnlyByForce) {
  const std::string command =
      "bench posteriors --quick --only log-gamma --samplers rwm --parts tuned --budget 2000 --out tables";
  const Outcome outcome = onward(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("### Effective draws per 1,000 evaluations"),
                                 HasSubstr("| posterior | rwm |"), HasSubstr("| log-gamma |")));
  EXPECT_EQ(get(path("tables/posteriors.md")), outcome.out);
  EXPECT_EQ(json_file("tables/posteriors.json").at("case"), "posteriors");
  cannot(command, {"tables has a posteriors.md", "--force"});
  EXPECT_EQ(onward(command + " --force").code, 0);
}

TEST_F(Posteriors, StopsWhenTold) {
  Started run({"bench", "posteriors", "--only", "log-gamma,logistic", "--parts", "tuned", "--samplers", "rwm",
               "--out", "tables", "--budget", "100000000"},
              {.folder = path("")});
  wait_until([&] { return std::filesystem::exists(path("tables")); });
  run.send(SIGINT);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
  EXPECT_THAT(get(path("tables/posteriors.md")), HasSubstr("it was interrupted"));
}

TEST_F(Posteriors, RefusesUnknownWords) {
  wrong_usage("bench posteriors --only funel", {"no posterior 'funel'", "Did you mean funnel?"});
  wrong_usage("bench posteriors --samplers rmw", {"no sampler 'rmw'", "Did you mean rwm?"});
  wrong_usage("bench posteriors --parts tunes", {"--parts 'tunes'", "Did you mean tuned?"});
  wrong_usage("bench posteriors --budget 10", {"--budget 10", "1000"});
  wrong_usage("bench jets --quick", {"--quick belongs to `onward bench posteriors`"});
}

class Bench : public Program {};

TEST_F(Bench, SlopesNeedAHundredthOfTheMemoryOfReverseModeLong) {
  const Outcome outcome = onward("bench reaction-diffusion --json --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  int bars = 0;
  const json result = json::parse(outcome.out);
  for (const auto& row : result.at("results")) {
    EXPECT_GT(row.at("value"), 0) << row;
    if (row.at("bar").is_null()) continue;
    ++bars;
    EXPECT_TRUE(row.at("met")) << row;
  }
  EXPECT_EQ(bars, 2);
}

}  // namespace
}  // namespace onward::testing
