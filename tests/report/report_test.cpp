// What a report is made of: verdicts, numbers in base64, pages of runs in memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/models.hpp"
#include "onward/error.hpp"
#include "onward/model/registry.hpp"
#include "onward/random/stream.hpp"
#include "onward/report/report.hpp"
#include "src/report/encode.hpp"
#include "src/report/parts.hpp"

namespace onward::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Independent normal draws of two parameters; chains of the second lie `apart` from each other.
Input made_up(std::size_t draws, double apart = 0) {
  Input input{.name = "made up", .names = {"a", "b"}, .chains = 4, .draws = draws};
  input.column = [=](std::size_t i) {
    Chains chains;
    for (std::size_t c = 0; c < 4; ++c) {
      const Stream stream(1, static_cast<std::uint32_t>(c));
      auto& chain = chains.emplace_back();
      for (std::size_t d = 0; d < draws; ++d)
        chain.push_back(stream.normal(d, Purpose::noise, i) + (i == 1 ? apart * static_cast<double>(c) : 0));
    }
    return chains;
  };
  input.parameters = summarise_all(input.names, input.column);
  return input;
}

TEST(Encode, IsBase64OfLittleEndianFloats) {
  EXPECT_EQ(encoded(std::vector<double>{}), "");
  EXPECT_EQ(encoded(std::vector<double>{1}), "AACAPw==");
  EXPECT_EQ(encoded(std::vector<double>{1, -2.5}), "AACAPwAAIMA=");
  EXPECT_EQ(encoded(std::vector<double>{0, 0, 0}), "AAAAAAAAAAAAAAAA");
}

TEST(Verdict, TrustsChainsThatAgree) {
  const Verdict result = verdict(made_up(1000));
  EXPECT_EQ(result.level, Verdict::Level::good);
  ASSERT_EQ(result.reasons.size(), 1U);
  EXPECT_THAT(result.reasons[0], HasSubstr("The 4 chains agree"));
}

TEST(Verdict, DistrustsChainsThatDoNot) {
  const Verdict apart = verdict(made_up(1000, 1.0));
  EXPECT_EQ(apart.level, Verdict::Level::bad);
  EXPECT_THAT(apart.reasons.at(0), HasSubstr("R-hat of b"));
  const Verdict few = verdict(made_up(60));
  EXPECT_EQ(few.level, Verdict::Level::doubtful);
  EXPECT_THAT(few.reasons.back(), HasSubstr("below 100 a chain"));
  Input stopped = made_up(1000);
  stopped.unfinished = "was interrupted";
  EXPECT_EQ(verdict(stopped).level, Verdict::Level::doubtful);
  Input hot = made_up(1000);
  hot.run = {{"settings", {{"temperature", 2.0}}}};
  EXPECT_THAT(verdict(hot).reasons.back(), HasSubstr("temperature 2"));
}

TEST(Verdict, DoesNotLetLevelsOfGroupsSpeakForTheRun) {
  Input input = made_up(1000, 1.0);
  input.shown = 1;  // b is a level
  const Verdict result = verdict(input);
  EXPECT_EQ(result.level, Verdict::Level::good);
  EXPECT_THAT(result.reasons.back(), HasSubstr("Of the 1 effects of groups, 1 has"));
}

TEST(Verdict, SpeaksOfTrajectories) {
  Input input = made_up(1000);
  const ChainTrajectories calm{.draws = 1000, .leapfrogs = 7000, .energy_fraction = 0.9};
  input.trajectories.assign(4, calm);
  const Verdict good = verdict(input);
  EXPECT_EQ(good.level, Verdict::Level::good);
  EXPECT_EQ(good.reasons.back(), "No trajectory diverged.");

  input.trajectories[2].divergent = 7;
  const Verdict divergent = verdict(input, {.target_acceptance = "--target-acceptance"});
  EXPECT_EQ(divergent.level, Verdict::Level::doubtful);
  EXPECT_EQ(divergent.headline, "With care: there may be places that these draws do not reach.");
  EXPECT_THAT(divergent.reasons.at(0), HasSubstr("The 4 chains agree"));
  EXPECT_THAT(divergent.reasons.at(1), HasSubstr("7 of 4000 trajectories diverged"));
  EXPECT_THAT(divergent.reasons.at(1), HasSubstr("--target-acceptance"));

  input.trajectories.assign(4, calm);
  for (auto& chain : input.trajectories) chain.deepest = 900;
  const Verdict dear = verdict(input);
  EXPECT_EQ(dear.level, Verdict::Level::good);  // dear, and right
  EXPECT_THAT(dear.reasons.at(1), HasSubstr("as long as is allowed"));
}

TEST(Page, MarksDivergentDraws) {
  RunSettings settings{.sampler = "nuts",
                       .sampler_options = {{"max_halvings", 0}},
                       .warmup = 300,
                       .draws = 300,
                       .chains = 2,
                       .seed = 3};
  const auto run = sample(build({"funnel", {{"dim", 4}}}), settings);
  std::uint64_t divergent = 0;
  for (const auto& chain : run.trajectories()) divergent += chain.divergent;
  ASSERT_GT(divergent, 0U);
  const Input input = input_of(run, "funnel");
  const auto marked = divergent_draws(input, 1000);
  ASSERT_EQ(marked.size(), divergent);
  for (const auto& [chain, draw] : marked) EXPECT_TRUE(run.chains[chain].followed[draw].divergent);
  EXPECT_EQ(divergent_draws(input, 1).size(), 1U);
  const std::string text = page({input});
  std::vector<double> first;
  for (const auto& [chain, draw] : marked) first.push_back(run.parameter(0)[chain][draw]);
  EXPECT_THAT(text, HasSubstr("\"divergent\":\"" + encoded(first) + "\""));
  EXPECT_THAT(text, HasSubstr("\"energy\":{\"x0\""));
}

TEST(Shape, ShowsFewDrawsAsTheyAreAndManyByTheirExtremes) {
  const Shape few(4, 1000), many(4, 100'000);
  EXPECT_FALSE(few.extremes);
  EXPECT_EQ(few.trace.size(), 1000U);
  EXPECT_TRUE(many.extremes);
  std::vector<double> chain(100'000, 0);
  chain[54'321] = 7;  // a single outlier must not get lost
  const Chains chains(4, chain);
  std::vector<double> expected;
  for (int c = 0; c < 4; ++c)
    for (std::size_t i = 0; i < many.trace.size(); ++i) {
      const std::size_t next = i + 1 < many.trace.size() ? many.trace[i + 1] : 100'000;
      const bool here = many.trace[i] <= 54'321 && 54'321 < next;
      expected.push_back(0);
      expected.push_back(here ? 7 : 0);
    }
  EXPECT_EQ(trace_of(chains, many), encoded(expected));
}

TEST(Page, IsMadeFromARunInMemory) {
  const auto run = sample(models::make("eight-schools").target, {.draws = 200, .seed = 1});
  const std::string text = page({input_of(run, "schools </script>")});
  EXPECT_THAT(text, HasSubstr("schools &lt;/script&gt;"));
  EXPECT_THAT(text, HasSubstr("\"name\":\"theta.1\""));
  // Names cannot end the script that holds the data.
  EXPECT_THAT(text, Not(HasSubstr("schools </script>")));
}

TEST(Page, KeepsPicturesOfTheWorstOfManyParameters) {
  Input input = made_up(100, 3.0);
  for (int i = 0; i < 20; ++i) input.names.push_back("c." + std::to_string(i));
  const auto two = input.column;
  input.column = [two](std::size_t i) { return two(i == 1 ? 1 : 0); };
  input.parameters.clear();
  const std::string text = page({input}, {.pictured = 4});
  std::size_t traces = 0;
  for (std::size_t at = text.find("\"trace\":\""); at != std::string::npos;
       at = text.find("\"trace\":\"", at + 1))
    ++traces;
  EXPECT_EQ(traces, 4U);
  EXPECT_NE(text.find("\"name\":\"b\""), std::string::npos);
}

TEST(Page, RefusesWhatCannotBeShown) {
  EXPECT_THROW(page({}), UsageError);
  const Input good = made_up(100);
  EXPECT_THROW(page({good, good, good}), UsageError);
  Input other = good;
  other.names[1] = "c";
  other.parameters[1].name = "c";
  EXPECT_THROW(page({good, other}), Error);
  Input empty = good;
  empty.draws = 0;
  EXPECT_THROW(page({empty}), Error);
  Input uneven = good;
  uneven.parameters.pop_back();
  EXPECT_THROW(page({uneven}), UsageError);
}

TEST(Comparison, TellsRunsApart) {
  const Input one = made_up(1000);
  Input far = one;
  far.parameters[1].mean += 0.5;  // of two means over 4,000 draws these are 22 standard errors
  EXPECT_TRUE(comparison_json(one, one.parameters, one, one.parameters).at("agree"));
  const auto found = comparison_json(one, one.parameters, far, far.parameters);
  EXPECT_FALSE(found.at("agree"));
  EXPECT_TRUE(found.at("rows").at(1).at("apart"));
  EXPECT_FALSE(found.at("rows").at(0).at("apart"));
  EXPECT_EQ(differences({{"a", 1}, {"b", {{"c", 2}}}}, {{"a", 1}, {"b", {{"c", 3}}}, {"d", "x"}}).dump(),
            R"([{"field":"b.c","one":"2","other":"3"},{"field":"d","one":"not set","other":"x"}])");
}

TEST(Predictions, AreCalibratedOrNot) {
  PredictedRows rows{.classes = true, .rows = 4, .width = 2};
  rows.mean = {0.9, 0.1, 0.9, 0.1, 0.2, 0.8, 0.9, 0.1};
  rows.answers = {0, 1, 1, 0};
  const auto json = predictions_json(rows, std::nullopt, nullptr);
  ASSERT_EQ(json.at("calibration").size(), 2U);
  EXPECT_EQ(json.at("calibration").at(0).at("came"), 1.0);  // of what was said with 0.8
  EXPECT_NEAR(json.at("calibration").at(1).at("came").get<double>(), 2.0 / 3, 1e-12);
  PredictedRows numbers{.rows = 1000};
  const Stream stream(3, 0);
  for (std::size_t i = 0; i < 1000; ++i) {
    numbers.mean.push_back(0);
    numbers.answers.push_back(stream.normal(0, Purpose::noise, i));
  }
  const auto covered = predictions_json(numbers, 1.0, nullptr).at("calibration").at(17);  // of 90% intervals
  EXPECT_NEAR(covered.at("came").get<double>(), 0.9, 5 * std::sqrt(0.9 * 0.1 / 1000));
}

}  // namespace
}  // namespace onward::report
