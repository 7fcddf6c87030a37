// Wrong words: each is refused with exit code 2, a message that names the thing, the value and the remedy,
// and without a trace on disk.

#include <sstream>

#include "program.hpp"

namespace onward::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Usage : public Program {};

TEST_F(Usage, NothingAskedPrintsHelp) {
  const Outcome outcome = onward("");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* command : {"sample", "evaluate", "summary", "predict", "effects", "check", "sbc", "loo",
                              "hypothesis", "models", "samplers", "serve", "bench"})
    EXPECT_THAT(outcome.out, HasSubstr(command));
  EXPECT_EQ(onward("--help").out, outcome.out);
}

TEST_F(Usage, EveryCommandHasHelp) {
  for (const std::string command : {"sample", "evaluate", "summary", "predict", "effects", "check", "sbc",
                                    "loo", "hypothesis", "models", "samplers", "serve", "bench"}) {
    const Outcome outcome = onward(command + " --help");
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("Usage: onward " + command));
    EXPECT_THAT(outcome.out, HasSubstr("Exit codes: 0"));
  }
  EXPECT_THAT(onward("bench --help").out, AllOf(HasSubstr("jets"), HasSubstr("kernels")));
}

TEST_F(Usage, HelpIsPerModelAndFitsTheScreen) {
  const auto lines = [&](const std::string& line) {
    const Outcome outcome = onward(line);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream in(outcome.out);
    for (std::string one; std::getline(in, one);) EXPECT_LE(one.size(), 82u) << line << ": " << one;
    return outcome.out;
  };
  const std::string common = lines("sample --help");
  EXPECT_THAT(common, AllOf(HasSubstr("--draws"), HasSubstr("onward sample MODEL --help")));
  EXPECT_THAT(common, ::testing::Not(HasSubstr("--family")));
  const std::string glm = lines("sample glm --help");
  EXPECT_THAT(glm,
              AllOf(HasSubstr("--family"), HasSubstr("--no-intercept"), HasSubstr("onward sample --help")));
  EXPECT_THAT(glm, ::testing::Not(HasSubstr("--net ")));
  const std::string net = lines("sample --seed 3 net --help");
  EXPECT_THAT(net, AllOf(HasSubstr("--net FILE"), HasSubstr("in place of --x and --y"), HasSubstr("--show")));
  EXPECT_THAT(net, ::testing::Not(HasSubstr("--family")));
  EXPECT_THAT(lines("evaluate net --help"), ::testing::Not(HasSubstr("--show")));
  EXPECT_THAT(lines("sample logistic --help"), HasSubstr("none"));
  // What a regression is given comes before what all runs share.
  const std::string own = lines("glm --help");
  std::size_t last = 0;
  for (const char* option :
       {"--data", "--formula", "--family", "--prior", "--show", "--contrasts", "--seed"}) {
    const std::size_t at = own.find(std::string("\n  ") + option);
    ASSERT_NE(at, std::string::npos) << option;
    EXPECT_GT(at, last) << option;
    last = at;
  }
  wrong_usage("sample gml --help", {"no model 'gml'", "Did you mean glm?"});
  for (const char* command : {"", "summary", "predict", "effects", "check", "sbc", "loo", "hypothesis",
                              "data", "data get", "evaluate"})
    lines(std::string(command) + " --help");
}

TEST_F(Usage, ModelsAreListedWithRegressionsAndNetworks) {
  EXPECT_THAT(onward("models").out, AllOf(HasSubstr("\nglm "), HasSubstr("\nnet "), HasSubstr("\nfunnel ")));
  EXPECT_EQ(nlohmann::json::parse(onward("models --json").out).back().at("name"), "net");
  wrong_usage("net --x x.npy", {"there is no command 'net'", "onward sample net"});
}

TEST_F(Usage, Version) {
  const Outcome outcome = onward("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, ::testing::MatchesRegex("onward [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Usage, UnknownCommand) {
  wrong_usage("smaple funnel", {"no command 'smaple'", "Did you mean sample?", "Try: onward --help"});
  wrong_usage("modles", {"'modles'", "models"});
  for (const std::string model : {"net", "eight-schools"})
    wrong_usage(model + " --x x.npy", {"no command '" + model + "'", "`onward sample " + model + "`"});
}

TEST_F(Usage, UnknownModel) {
  wrong_usage("sample funel", {"no model 'funel'", "Did you mean funnel?", "eight-schools, funnel, gaussian",
                               "Try: onward sample --help"});
  wrong_usage("evaluate qqq", {"no model 'qqq'", "Models: eight-schools"});
}

TEST_F(Usage, UnknownSampler) {
  wrong_usage("sample funnel --sampler pc-line-fmal",
              {"no sampler 'pc-line-fmal'", "Did you mean pc-line-fmala?", "rwm, mala"});
}

TEST_F(Usage, UnknownOption) {
  wrong_usage("sample funnel --dimm 3",
              {"no option '--dimm'", "Did you mean --dim?", "onward sample --help"});
  wrong_usage("sample funnel --drawz=10", {"'--drawz=10'", "Did you mean --draws?"});
  wrong_usage("sample funnel -draws 10", {"'-draws'", "Did you mean --draws?"});
  for (const auto& [theirs, ours] : {std::pair("--iter", "--draws"),
                                     {"--iterations", "--draws"},
                                     {"--samples", "--draws"},
                                     {"--num_samples", "--draws"},
                                     {"--burnin", "--warmup"},
                                     {"--burn", "--warmup"},
                                     {"--cores", "--threads"},
                                     {"--jobs", "--threads"},
                                     {"--output", "--out"},
                                     {"--dimension", "--dim"},
                                     {"--step_size", "--step-size"},
                                     {"--chain", "--chains"}})
    wrong_usage(std::string("sample funnel ") + theirs + " 5",
                {std::string("no option '") + theirs + "'", std::string("Did you mean ") + ours + "?"});
  wrong_usage("--bogus", {"no option '--bogus'", "onward --help"});
  wrong_usage("--json sample funnel", {"--json belongs after the command: onward sample --json"});
  wrong_usage("sample funnel gaussian", {"'gaussian'", "too many"});
}

TEST_F(Usage, UnknownWordOfAnOption) {
  wrong_usage("sample funnel --metric full", {"--metric 'full'", "none, diag, dense, lowrank"});
  wrong_usage("sample funnel --metric lowrnk", {"--metric 'lowrnk'", "Did you mean lowrank?"});
  wrong_usage("sample funnel --tangent old", {"--tangent 'old'", "kept or fresh"});
  wrong_usage("sample funnel --tune best --sampler fmala", {"--tune 'best'", "bayes or grid"});
  wrong_usage("sample funnel --bias-correction all", {"--bias-correction 'all'", "none, coupled, drift"});
  wrong_usage("sample funnel --format parquet", {"--format parquet", "csv"});
  wrong_usage("bench nonsense", {"no benchmark 'nonsense'", "jets, kernels"});
}

TEST_F(Usage, Directions) {
  const std::string line = "sample funnel --dim 2 --sampler newton-line --directions ";
  wrong_usage(line + "circle", {"--directions 'circle'", "sphere, frames, axes, blocks"});
  wrong_usage(line + "frame", {"Did you mean frames?"});
  wrong_usage(line + "frames*x+axes", {"'x' is no weight", "frames*3+axes"});
  wrong_usage(line + "blocks:y", {"no parameter 'y'"});
  wrong_usage("sample funnel --directions circle", {"--directions 'circle'"});  // for the sampler auto too
  for (const std::string sampler : {"fmala", "pc-fmala"}) {
    for (const std::string source : {"axes", "frames", "blocks"})
      wrong_usage("sample funnel --sampler " + sampler + " --directions " + source,
                  {"--directions " + source, "not exact", "sphere", "--tangent fresh with frames"});
    wrong_usage("sample funnel --tangent fresh --sampler " + sampler + " --directions axes",
                {"--directions axes", "not exact", "sphere or frames"});
  }
}

TEST_F(Usage, WhatASamplerDoesNotHave) {
  wrong_usage("sample funnel --sampler newton-line --step-size 0.5",
              {"newton-line has no step size", "0.5", "--relaxation"});
  wrong_usage("sample funnel --sampler newton-line --tune grid", {"newton-line has no step size to tune"});
  wrong_usage("sample funnel --tune bayes", {"--tune", "name it", "--sampler pc-line-fmala"});
  wrong_usage("sample funnel --sampler rwm --tune bayes --step-size 1", {"--tune", "--step-size"});
}

TEST_F(Usage, MissingWords) {
  wrong_usage("sample", {"MODEL is missing", "onward models"});
  wrong_usage("bench", {"`onward bench` needs one of its benchmarks", "jets, kernels"});
  wrong_usage("summary", {"DIR|FILE is missing", "folder"});
  wrong_usage("sample funnel --max-seconds", {"--max-seconds needs a value", "--max-seconds X"});
  wrong_usage("sample funnel --out --json", {"--out needs a value before --json"});
  wrong_usage("sample funnel --draws --json", {"--draws needs a value before --json", "--draws N"});
  for (const char* option :
       {"--out", "--dim", "--draws", "--sampler", "--init", "--bias-correction", "--tune"})
    refuses(2, {"sample", "funnel", option, ""}, {std::string(option) + " is empty", "leave it out"});
}

TEST_F(Usage, ARunIsJudgedBeforeItMustEnd) {
  wrong_usage("sample funnel --until-ess 100 --min-draws 500 --max-draws 499",
              {"--min-draws 500 is more than --max-draws 499"});
  wrong_usage("sample funnel --min-draws 2000 --max-draws 1000", {"--min-draws 2000", "--max-draws 1000"});
}

TEST_F(Usage, FlagsTakeNoValue) { wrong_usage("sample funnel --quiet=5", {"--quiet takes no value"}); }

TEST_F(Usage, Dimension) {
  wrong_usage("sample funnel --dim 0", {"--dim 0", "1 or more"});
  wrong_usage("sample funnel --dim -3", {"--dim -3", "1 or more"});
  wrong_usage("sample funnel --dim ten", {"--dim ten", "whole number"});
  wrong_usage("sample funnel --dim 2.5", {"--dim 2.5", "whole number"});
  wrong_usage("sample funnel --dim 1e9", {"--dim 1e9", "in digits, such as 1000000000"});
  wrong_usage("evaluate funnel --dim 1000000000", {"dimension 1000000000", "at most 100000000"});
  wrong_usage("sample funnel --dim 100000000 --draws 100000",
              {"100000000 parameters", "GB", "smaller --dim"});
  wrong_usage("sample eight-schools --dim 3",
              {"--dim belongs to the models funnel, gaussian", "not to eight-schools"});
  wrong_usage("sample rosenbrock --dim 3", {"--dim 3 is odd", "even"});
  wrong_usage("sample gaussian --dim 1000000 --draws 1 --chains 1 --metric dense", {"dense", "diag"});
}

TEST_F(Usage, StepSize) {
  for (const std::string value : {"-1", "0", "nan", "inf"})
    wrong_usage("sample funnel --step-size " + value,
                {"step size " + value, "positive number", "warm-up finds one"});
  wrong_usage("sample funnel --step-size big", {"--step-size big", "number, such as 0.5"});
}

TEST_F(Usage, Counts) {
  for (const std::string option : {"--chains", "--draws", "--thin", "--tune-trials"})
    for (const std::string value : {"0", "-1", "ten", "1.5", "99999999999999999999999"})
      wrong_usage("sample funnel " + option + " " + value,
                  {option + " " + value + " is not usable", "whole number, 1 or more"});
  for (const std::string value : {"0", "-1", "ten", "1.5", "10001"})
    wrong_usage("sample funnel --inner " + value,
                {"--inner " + value + " is not usable", "whole number from 1 to 10000"});
  for (const std::string option : {"--warmup", "--threads", "--seed"})
    for (const std::string value : {"-1", "ten"})
      wrong_usage("sample funnel " + option + " " + value,
                  {option + " " + value + " is not usable", "whole number, 0 or more"});
  wrong_usage("sample funnel --draws 1000000000000000", {"1000000000000000 draws", "GB", "--thin"});
  wrong_usage("sample funnel --chains 1000000000000", {"1000000000000 chains", "GB"});
  wrong_usage("sample funnel --draws 1 --chains 1000000000", {"1000000000 chains", "GB"});
  wrong_usage("sample funnel --until-ess 400 --chains 1000000000", {"1000000000 chains", "GB"});
  // Draws that are not kept take no memory.
  EXPECT_EQ(onward("sample gaussian --dim 2 --sampler mala --keep moments --draws 10000000000 --warmup 100"
                   " --max-seconds 0.5 --quiet --out none")
                .code,
            0);
  wrong_usage("paper funnel --seeds 1000000000000", {"--seeds 1000000000000", "give fewer"});
  wrong_usage("sample funnel --thin 100000000000000", {"steps a chain", "less thinning"});
}

TEST_F(Usage, OtherNumbers) {
  wrong_usage("sample funnel --temperature 0", {"temperature 0", "positive number"});
  wrong_usage("sample funnel --temperature hot", {"--temperature hot", "must be a number"});
  wrong_usage("sample funnel --max-seconds -1", {"--max-seconds -1", "positive number"});
  wrong_usage("sample funnel --max-seconds nan", {"--max-seconds nan", "positive number"});
  wrong_usage("sample funnel --target-acceptance 3", {"--target-acceptance 3", "between 0 and 1"});
  wrong_usage("sample funnel --curvature-floor -1", {"--curvature-floor -1", "positive number"});
  for (const std::string value : {"0", "2", "-1", "nan"})
    wrong_usage("sample funnel --relaxation " + value, {"relaxation " + value, "between 0 and 2"});
  wrong_usage("sample funnel --relaxation c", {"--relaxation c", "must be a number"});
  wrong_usage("sample gaussian --condition 0.5", {"condition number 0.5", "1 or more"});
  wrong_usage("sample funnel --condition 3", {"--condition belongs to the model gaussian, not to funnel"});
}

TEST_F(Usage, WordsAfterTwoDashesAreNoOptions) {
  const Outcome outcome = onward("sample --draws 10 --warmup 10 --seed 1 --out --run -- funnel");
  EXPECT_EQ(outcome.code, 2);  // a folder's name is a value, not such a word
  EXPECT_EQ(onward("sample --draws 10 --warmup 10 --seed 1 --out run -- funnel").code, 0);
  std::filesystem::rename(path("run"), path("--run"));
  EXPECT_EQ(onward("summary -- --run").code, 0);
}

TEST_F(Usage, ControlCharactersAreShownNotObeyed) {
  for (const std::string word : {"a\x1b[2Jb",
                                 "\xc2\x9b"
                                 "31m"}) {
    const Outcome outcome = onward(Words{"sample", word});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("\xc2\x9b"), std::string::npos) << outcome.err;
  }
}

TEST_F(Usage, TheLastOfTwoCounts) {
  const Outcome outcome =
      onward("sample gaussian --draws 10 --draws 20 --out none --json --quiet --warmup 10");
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("draws"), 20);
}

}  // namespace
}  // namespace onward::testing
