// What a run says of itself: the table, and what not to trust in it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "onward/run/run.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Chains of one parameter that jump about so much that they look independent, each about a place of its own.
Run run_about(const std::vector<double>& places, std::size_t draws) {
  Run run;
  run.settings.sampler = "mala";
  run.settings.metric = MetricKind::diag;
  run.dimension = 1;
  run.names = {"x"};
  for (std::size_t c = 0; c < places.size(); ++c) {
    ChainRecord chain;
    chain.draws = draws;
    for (std::size_t i = 0; i < draws; ++i)
      chain.values.push_back(places[c] + std::sin(12.9898 * static_cast<double>(i * 7 + c + 1)));
    run.chains.push_back(std::move(chain));
  }
  return run;
}

TEST(Report, IsTheTableIfThereIsNothingToWarnOf) {
  const auto run = run_about({0, 0}, 1000);
  EXPECT_THAT(run.warnings(), IsEmpty());
  EXPECT_EQ(run.report(), run.summary_table());
}

TEST(Report, WarnsInTheWordsOfTheSettings) {
  const auto run = run_about({0, 10}, 1000);
  const auto warnings = run.warnings();
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.front(), HasSubstr("R-hat of x is"));
  for (const auto& warning : warnings) {
    EXPECT_THAT(warning, Not(HasSubstr("--")));
    EXPECT_THAT(run.report(), HasSubstr("\nwarning: " + warning + "\n"));
  }
  EXPECT_THAT(warnings.front(), HasSubstr("a dense metric or another sampler"));
  EXPECT_THAT(run.report(), HasSubstr(run.summary_table()));
}

TEST(Report, LeavesOutChainsWithoutDrawsAndSaysSo) {
  auto run = run_about({0, 0, 0}, 1000);
  run.chains[2] = {};
  run.ending = Ending::time_limit;
  run.settings.max_seconds = 3;
  EXPECT_NEAR(run.summary().front().mean, 0, 0.1);
  EXPECT_THAT(run.notes(), ElementsAre("1 of 3 chains have no draws and are left out"));
  EXPECT_THAT(run.report(), HasSubstr("note: 1 of 3 chains"));
  EXPECT_THAT(run.report(),
              HasSubstr("note: the run was stopped at max_seconds = 3 after 1000 draws a chain"));
}

TEST(Report, CountsEvaluationsThatWereNotFinite) {
  auto half = [](const auto& t) {
    using std::log;
    return log(t[0]) - t[0];
  };
  const auto run = sample(
      target(1, half),
      {.sampler = "rwm", .draws = 50, .seed = 1, .start = {.kind = Start::Kind::given, .position = {1.0}}});
  ASSERT_GT(run.counts().nonfinite, 0u);
  EXPECT_THAT(run.report(), HasSubstr("evaluations were not finite; each was a rejection"));
}

TEST(Report, SettingsOfARunHaveValues) {
  const auto run = sample(target(1, [](const auto& t) { return -0.5 * t[0] * t[0]; }),
                          {.sampler = "rwm", .warmup = 30, .draws = 20, .thin = 2, .seed = 7});
  EXPECT_EQ(run.seed(), 7u);
  EXPECT_EQ(run.thin(), 2u);
  EXPECT_EQ(run.warmup(), 30u);
  const auto filled = sample(target(1, [](const auto& t) { return -0.5 * t[0] * t[0]; }), {.draws = 20});
  EXPECT_TRUE(filled.settings.seed && filled.settings.metric && filled.settings.target_acceptance);
  EXPECT_GE(filled.thin(), 1u);
  EXPECT_GE(filled.warmup(), 1u);
}

}  // namespace
}  // namespace onward
