// `onward diagnose`, and what trajectories tell in `sample`, `summary` and `diagnose` alike.

#include "program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Diagnose : public Program {
 protected:
  /// The neck of a funnel, without halved steps: trajectories diverge.
  Outcome funnel(const std::string& more = "") const {
    return onward(
        "sample funnel --dim 4 --sampler nuts --max-halvings 0 --warmup 300 --draws 300 --seed 3 --out run " +
        more);
  }
  static std::string line_with(const std::string& text, const std::string& words) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (line.find(words) != std::string::npos) return line;
    return "no line with " + words;
  }
};

TEST_F(Diagnose, DivergencesAreToldByAllThatTellOfARun) {
  const Outcome sampled = funnel();
  ASSERT_EQ(sampled.code, 0) << sampled.err;
  const std::string told = line_with(sampled.err, "trajectories diverged");
  EXPECT_THAT(told, StartsWith("warning: "));
  EXPECT_THAT(told, HasSubstr("--target-acceptance"));
  EXPECT_EQ(line_with(onward("summary run").err, "trajectories diverged"), told);

  const json kept = json_file("run/summary.json").at("trajectories");
  EXPECT_EQ(kept.at("divergent").size(), 4u);
  const json summary = json::parse(onward("summary run --json --quiet").out).at("trajectories");
  EXPECT_EQ(summary.at("divergent"), kept.at("divergent"));
  EXPECT_EQ(summary.at("max_depth_reached"), kept.at("max_depth_reached"));
  EXPECT_EQ(summary.at("leapfrogs"), kept.at("leapfrogs"));

  const Outcome words = onward("diagnose run");
  EXPECT_EQ(words.code, 0) << words.err;
  EXPECT_THAT(words.out, HasSubstr("\n- " + told.substr(std::string("warning: ").size()) + "\n"));
  const json in_json = json::parse(onward("diagnose run --json").out);
  EXPECT_NE(in_json.at("level"), "good");
  EXPECT_EQ(words.out.substr(0, words.out.find('\n')), in_json.at("headline"));
  EXPECT_EQ(in_json.at("trajectories").at("divergent"), kept.at("divergent"));
}

TEST_F(Diagnose, AGoodRunIsCalledGood) {
  ASSERT_EQ(onward("sample gaussian --dim 3 --sampler nuts --draws 1000 --seed 1 --quiet --out run").code, 0);
  const Outcome outcome = onward("diagnose run --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("Yes: "));
  EXPECT_THAT(outcome.out, HasSubstr("- No trajectory diverged.\n"));
  EXPECT_EQ(json::parse(onward("diagnose run --json").out).at("level"), "good");
  // The page says the same.
  ASSERT_EQ(onward("report run").code, 0);
  EXPECT_THAT(get(path("run/report.html")), HasSubstr("No trajectory diverged."));
}

TEST_F(Diagnose, OfOtherSamplersSaysNothingOfTrajectories) {
  ASSERT_EQ(onward("sample gaussian --dim 3 --sampler rwm --draws 200 --seed 1 --quiet --out run").code, 0);
  EXPECT_THAT(onward("diagnose run").out, Not(HasSubstr("rajector")));
  EXPECT_FALSE(json::parse(onward("diagnose run --json").out).contains("trajectories"));
  EXPECT_FALSE(json_file("run/summary.json").contains("trajectories"));
}

TEST_F(Diagnose, WhatIsNoRun) {
  cannot("diagnose nowhere", {"nowhere"});
  std::filesystem::create_directory(path("empty"));
  cannot("diagnose empty", {"empty"});
}

TEST_F(Diagnose, CmdStansOwnFilesTellOfTrajectoriesToo) {
  std::string text =
      "# model = coin_model\n"
      "#     algorithm = hmc (Default)\n"
      "#         max_depth = 10 (Default)\n"
      "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,theta\n";
  const auto draw = [&](int i, int depth, int divergent) {
    text += "-7,0.9,0.75," + std::to_string(depth) + ",7," + std::to_string(divergent) + "," +
            std::to_string(i % 3) + ".5," + std::to_string(i * 7 % 11) + "\n";
  };
  for (int i = 0; i < 20; ++i) draw(i, i < 5 ? 10 : 3, i == 8 || i == 9 ? 1 : 0);
  put("output.csv", text);
  const Outcome outcome = onward("summary output.csv --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("2 of 20 trajectories diverged"));
  EXPECT_THAT(outcome.err, HasSubstr("5 of 20 trajectories were as long as is allowed"));
  const json trajectories = json::parse(outcome.out).at("trajectories");
  EXPECT_EQ(trajectories.at("divergent"), json::array({2}));
  EXPECT_EQ(trajectories.at("max_depth_reached"), json::array({5}));
  EXPECT_EQ(trajectories.at("leapfrogs"), json::array({140}));
}

}  // namespace
}  // namespace onward::testing
