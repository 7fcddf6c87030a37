// Settings as data: what is written can be read, every sampler's options are among it, and what cannot be is
// refused by name.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onward/error.hpp"
#include "onward/run/run.hpp"
#include "onward/run/setting_fields.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;

AnyTarget normal() {
  return target(3, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]); });
}

std::string refusal(const ordered_json& json) {
  try {
    settings_from_json(json);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "it was taken";
}

TEST(SettingFields, WhatIsWrittenGivesTheSameBits) {
  for (const auto& sampler : samplers()) {
    SCOPED_TRACE(sampler.name);
    RunSettings s{.sampler = sampler.name, .warmup = 60, .draws = 20, .chains = 2, .seed = 11};
    s.sampler_options = {{"inner", 2}, {"curvature_floor", 0.05}, {"relaxation", 1.4}, {"tangent", "fresh"}};
    const onward::Run run = sample(normal(), s);
    const ordered_json written = settings_json(run.settings);
    EXPECT_EQ(written.at("sampler"), sampler.name);
    for (const auto& option : sampler.options) EXPECT_TRUE(written.contains(option.name)) << option.name;
    const onward::Run again = sample(normal(), settings_from_json(ordered_json::parse(written.dump())));
    for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(again.chains[c].values, run.chains[c].values);
    EXPECT_EQ(settings_json(again.settings), written);
  }
}

TEST(SettingFields, EveryFieldComesBack) {
  RunSettings s{.sampler = "line-fmala",
                .step_size = 0.25,
                .adapt_in_warmup = true,
                .sampler_options = {{"inner", 3}},
                .directions = "axes",
                .target_acceptance = 0.5,
                .warmup = 12,
                .draws = 34,
                .thin = 5,
                .chains = 3,
                .seed = 77,
                .start = {.kind = Start::Kind::random, .scale = 0.5},
                .metric = MetricKind::diag,
                .temperature = 2,
                .max_seconds = 90,
                .until_ess = 50,
                .min_draws = 10};
  const ordered_json written = settings_json(resolve(s, 3));
  const RunSettings back = settings_from_json(written);
  EXPECT_EQ(settings_json(resolve(back, 3)), written);
  for (const auto& field : setting_fields()) {
    // Every field differs from its default here, so that none can be passed over.
    if (!field.stored || field.option.name == "vectors") continue;
    EXPECT_NE(field.get(back), field.get(RunSettings{})) << field.option.name;
  }
}

TEST(SettingFields, StartsAreZerosRandomNumbersOrAWord) {
  EXPECT_EQ(settings_from_json({{"init", "zeros"}}).start.kind, Start::Kind::zeros);
  EXPECT_EQ(settings_from_json({{"init", {{"random", 0.5}}}}).start.scale, 0.5);
  EXPECT_EQ(settings_from_json({{"init", {1.5, 2.5}}}).start.position, (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(settings_from_json({{"init", "start.npy"}}).start.word, "start.npy");
}

TEST(SettingFields, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal({{"smapler", "rwm"}}),
              AllOf(HasSubstr("`smapler`"), HasSubstr("Did you mean sampler?")));
  EXPECT_THAT(refusal({{"draws", 0}}), AllOf(HasSubstr("`draws` 0"), HasSubstr("1 or more")));
  EXPECT_THAT(refusal({{"draws", "many"}}), HasSubstr("`draws` many"));
  EXPECT_THAT(refusal({{"temperature", -1}}), AllOf(HasSubstr("`temperature` -1"), HasSubstr("positive")));
  EXPECT_THAT(refusal({{"target_acceptance", 1}}), HasSubstr("between 0 and 1"));
  EXPECT_THAT(refusal({{"metric", "dens"}}), AllOf(HasSubstr("'dens'"), HasSubstr("Did you mean dense?")));
  EXPECT_THAT(refusal({{"sampler", "newton-line"}, {"relaxation", 2}}), HasSubstr("between 0 and 2"));
  EXPECT_THAT(refusal({{"sampler", "newton-line"}, {"inner", 10'001}}), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(refusal({{"sampler", "fmala"}, {"tangent", "old"}}), HasSubstr("kept or fresh"));
  EXPECT_THAT(refusal(ordered_json::array()), HasSubstr("object"));
}

TEST(SettingFields, SayWhomTheyConcern) {
  const auto for_sampler = [](const char* field, const char* sampler) {
    return concerns(field, find_sampler(sampler));
  };
  EXPECT_TRUE(for_sampler("step_size", "mala"));
  EXPECT_FALSE(for_sampler("step_size", "newton-line"));
  EXPECT_TRUE(for_sampler("directions", "fmala"));
  EXPECT_FALSE(for_sampler("directions", "rwm"));
  EXPECT_FALSE(for_sampler("vectors", "mala"));
  EXPECT_TRUE(for_sampler("relaxation", "axes"));
  EXPECT_FALSE(for_sampler("metric", "axes"));
  EXPECT_TRUE(for_sampler("draws", "axes"));
  EXPECT_FALSE(for_sampler("inner", "rwm"));
}

}  // namespace
}  // namespace onward
