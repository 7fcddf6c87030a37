// `onward paper`: wrong requests, what one seed cannot tell, the shape of its JSON, and a run that is killed
// and goes on.

#include <algorithm>
#include <sstream>

#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string tiny =
    "paper funnel --dims 3 --step-sizes 2 --seeds 2 --chains 2 --steps 50 --equal none --quiet";

class Paper : public Program {
 protected:
  static nlohmann::json parsed(const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  /// The tables of a table.json without what comes from the clock.
  nlohmann::json timeless(const std::string& name) const {
    nlohmann::json json = json_file(name);
    json.erase("seconds");
    const auto strip = [](nlohmann::json& rows) {
      for (auto& row : rows)
        for (const char* timing : {"steps_per_second", "random_share"}) row.erase(timing);
    };
    strip(json.at("table"));
    strip(json.at("equal").at("evaluations"));
    return json;
  }
};

TEST_F(Paper, WrongExperimentsAndSamplers) {
  wrong_usage("paper", {"`onward paper` needs one of its experiments: funnel, logreg, bnn, cnn"});
  wrong_usage("paper funel", {"no experiment 'funel'", "Did you mean funnel?"});
  wrong_usage("paper table", {"no experiment 'table'", "Experiments: funnel"});
  wrong_usage("paper --quick funnel", {"--quick belongs after the command: onward paper funnel --quick"});
  wrong_usage("--quick paper funnel", {"there is no option '--quick'"});
  wrong_usage(tiny + " --samplers rwm,malla", {"no sampler 'malla'", "Did you mean mala?"});
  wrong_usage(tiny + " --kl sideways", {"--kl 'sideways'", "forward", "reverse"});
}

TEST_F(Paper, WrongGrids) {
  wrong_usage(tiny + " --step-sizes 0", {"--step-sizes 0", "1 or more"});
  wrong_usage(tiny + " --min-step-size 2", {"from 2 to 2", "--max-step-size must be above --min-step-size"});
  wrong_usage(tiny + " --min-step-size 3", {"from 3 to 2", "--max-step-size must be above --min-step-size"});
  wrong_usage(tiny + " --max-step-size 0.05", {"from 0.1 to 0.05"});
  wrong_usage(tiny + " --min-step-size 0", {"--min-step-size 0", "positive"});
  wrong_usage(tiny + " --min-step-size nan", {"--min-step-size nan", "positive"});
}

TEST_F(Paper, WrongSizes) {
  for (const std::string option : {"--dims", "--seeds", "--chains", "--step-sizes"})
    wrong_usage("paper funnel " + option + " 0", {option + " 0", "1 or more"});
  wrong_usage("paper funnel --dims ten", {"--dims ten"});
  wrong_usage("paper funnel --dims 1000000", {"--dims 1000000", "at most"});
  wrong_usage("paper funnel --steps 1", {"--steps 1", "2 or more"});
  wrong_usage("paper funnel --lanes 1000", {"--lanes 1000", "register"});
}

TEST_F(Paper, FoldersThatCannotBeUsed) {
  put("file", "not a folder");
  cannot(tiny + " --out file/run", {"file/run", "Not a directory"});
  cannot(tiny + " --out file", {"file is a file", "another --out"});
  cannot(tiny + " --resume --out nowhere", {"nowhere has no checkpoint", "leave --resume out"});
  wrong_usage(tiny + " --resume", {"--resume needs the --out"});
  ASSERT_EQ(onward(tiny + " --out run").code, 0);
  cannot(tiny + " --out run", {"run", "--force"});
  cannot(tiny + " --out run --resume --steps 60", {"run/checkpoint", "another experiment"});
}

TEST_F(Paper, HelpKnowsTheExperiment) {
  const Outcome funnel = onward("paper funnel --help"), bnn = onward("paper bnn --help");
  EXPECT_EQ(funnel.code, 0);
  EXPECT_THAT(funnel.out, AllOf(HasSubstr("Usage: onward paper funnel"), HasSubstr("--dims"),
                                Not(HasSubstr("--temperature")), Not(HasSubstr("--pretrain"))));
  EXPECT_THAT(bnn.out, AllOf(HasSubstr("--temperature"), Not(HasSubstr("--dims"))));
  const Outcome all = onward("paper --help");
  for (const char* experiment : {"funnel", "logreg", "bnn", "cnn"})
    EXPECT_THAT(all.out, HasSubstr(experiment));
}

TEST_F(Paper, QuickTablesAreNarrowAndHaveNoPublishedFigures) {
  const std::string line = "paper funnel --quick --step-sizes 2 --seeds 2 --steps 100";
  const Outcome quick = onward(line);
  EXPECT_EQ(quick.code, 0) << quick.err;
  EXPECT_THAT(quick.err, HasSubstr("--out DIR"));
  EXPECT_THAT(onward(line + " --quiet").err, "");
  std::istringstream lines(quick.out);
  std::string heading;
  std::getline(lines, heading);
  EXPECT_THAT(heading, AllOf(HasSubstr("ESS w"), Not(HasSubstr("published"))));
  lines.seekg(0);
  for (std::string one; std::getline(lines, one);) {
    const auto characters = std::count_if(one.begin(), one.end(), [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(characters, 80) << one;
  }
  // At the paper's length they are there.
  EXPECT_THAT(onward("paper funnel --dims 10 --samplers mala --step-sizes 1 --seeds 2 --quiet").out,
              HasSubstr("published KL"));
}

TEST_F(Paper, WritesEveryFormOfTheTableAndItsFigures) {
  const Outcome outcome = onward(tiny + " --out run");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const std::string text = get(path("run/table.txt"));
  EXPECT_THAT(outcome.out, HasSubstr(text));
  EXPECT_THAT(text, HasSubstr("pc-line-fmala"));
  EXPECT_THAT(get(path("run/table.md")), HasSubstr("| pc-line-fmala |"));
  EXPECT_THAT(get(path("run/table.csv")), HasSubstr("3,pc-line-fmala,"));
  for (const char* figure : {"sensitivity.svg", "sensitivity.png"})
    EXPECT_GT(get(path(std::string("run/") + figure)).size(), 1000U) << figure;
}

TEST_F(Paper, OneSeedHasNoDeviationAndNoPValue) {
  const std::string line = tiny + " --seeds 1 --samplers rwm,mala";
  const Outcome text = onward(line);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("One seed: there is no standard deviation and no p-value."));
  EXPECT_THAT(onward(tiny).out, Not(HasSubstr("One seed")));
  const auto rows = parsed(onward(line + " --json")).at("table");
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    EXPECT_TRUE(row.at("kl_mean").is_number());
    EXPECT_TRUE(row.at("kl_sd").is_null());
    EXPECT_TRUE(row.at("p_value_vs_mala").is_null());
    EXPECT_TRUE(row.at("p_value_vs_published").is_null());
  }
}

TEST_F(Paper, JsonHasTheTableItsSettingsAndTheTime) {
  const auto json = parsed(
      onward("paper funnel --dims 10,3 --samplers mala,rwm,pc-line-fmala --step-sizes 2 --seeds 2 --chains 2"
             " --steps 50 --equal none --json"));
  EXPECT_GE(json.at("seconds").get<double>(), 0);
  const auto& settings = json.at("settings");
  EXPECT_EQ(settings.at("dims"), (std::vector<int>{10, 3}));
  EXPECT_EQ(settings.at("samplers"), (Words{"mala", "rwm", "pc-line-fmala"}));
  EXPECT_EQ(settings.at("steps"), 50);
  EXPECT_EQ(settings.at("kl"), "forward");
  const auto& rows = json.at("table");
  ASSERT_EQ(rows.size(), 6U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    EXPECT_EQ(row.at("dim"), i < 3 ? 10 : 3);
    EXPECT_EQ(row.at("sampler"), settings.at("samplers")[i % 3]);
    EXPECT_EQ(row.at("curve").size(), 2U);
    // The paper has D = 10, 50 and 100, and not rwm.
    EXPECT_EQ(row.at("published").is_object(), row.at("dim") == 10 && row.at("sampler") != "rwm");
    EXPECT_EQ(row.at("p_value_vs_mala").is_null(), row.at("sampler") == "mala");
    for (const char* figure : {"kl_mean", "kl_sd", "ess_w_mean", "ess_x_mean", "step_size", "acceptance",
                               "steps_per_second", "evaluations_per_chain"})
      EXPECT_TRUE(row.at(figure).is_number()) << figure;
  }
  EXPECT_EQ(rows[0].at("published").at("kl_mean"), 0.16);
}

TEST_F(Paper, KilledAndResumedGivesTheSameTable) {
  const std::string line =
      "paper funnel --dims 3 --samplers rwm,mala,fmala,line-fmala,pc-fmala,pc-line-fmala --step-sizes 10"
      " --seeds 4 --chains 4 --steps 2500 --equal evaluations --threads 1 --quiet --out ";
  ASSERT_EQ(onward(line + "whole").code, 0);

  const auto finished_pieces = [&]() -> std::ptrdiff_t {
    if (!fs::exists(path("cut/checkpoint"))) return 0;
    const std::string text = get(path("cut/checkpoint"));
    return std::count(text.begin(), text.end(), '{');
  };
  Started run(split(line + "cut"), {.folder = path("")});
  wait_until([&] { return finished_pieces() >= 3; });
  run.send(SIGKILL);
  EXPECT_EQ(run.wait().code, -SIGKILL);
  EXPECT_FALSE(fs::exists(path("cut/table.json")));
  const std::string checkpoint = get(path("cut/checkpoint"));

  const Outcome resumed = onward(line + "cut --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(get(path("cut/checkpoint")).substr(0, checkpoint.size()), checkpoint) << "pieces were not kept";
  EXPECT_EQ(timeless("cut/table.json"), timeless("whole/table.json"));
}

}  // namespace
}  // namespace onward::testing
