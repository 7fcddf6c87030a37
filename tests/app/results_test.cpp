// What the program prints when all goes well: tables and JSON on stdout, the rest on stderr, and the same
// bytes for the same seed.

#include <algorithm>
#include <cmath>

#include "program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

class Sample : public Program {};

TEST_F(Sample, JsonHasTheDocumentedShape) {
  const Outcome outcome =
      onward("sample funnel --dim 3 --chains 2 --draws 50 --warmup 200 --seed 5 --json --out run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto result = nlohmann::ordered_json::parse(outcome.out);
  const auto names = keys(result);
  for (const char* key : {"model", "dimension", "sampler", "settings", "seed", "chains", "draws", "step_size",
                          "acceptance", "seconds", "steps_per_second", "jets", "gradients", "nonfinite",
                          "max_rhat", "min_ess_bulk", "min_ess_tail", "peak_rss_bytes", "parameters"})
    EXPECT_THAT(names, ::testing::Contains(key));
  EXPECT_EQ(result["model"], "funnel");
  EXPECT_EQ(result["dimension"], 4);
  const auto& choice = result["choice"];
  EXPECT_EQ(result["sampler"], choice["sampler"]);
  EXPECT_EQ(choice["sampler"], "nuts");
  EXPECT_TRUE(result["settings"].is_object());
  EXPECT_EQ(result["seed"], 5);
  EXPECT_EQ(result["chains"], 2);
  EXPECT_EQ(result["draws"], 50);
  EXPECT_EQ(result["step_size"].size(), 2u);
  EXPECT_EQ(result["acceptance"].size(), 2u);
  EXPECT_THAT(keys(result["seconds"]), ElementsAre("warmup", "sampling"));
  EXPECT_GT(result["steps_per_second"].get<double>(), 0);
  EXPECT_GT(result["jets"].get<std::uint64_t>() + result["gradients"].get<std::uint64_t>(),
            2u * (200u + 50u));
  EXPECT_GT(result["peak_rss_bytes"].get<std::uint64_t>(), 1'000'000u);
  ASSERT_EQ(result["parameters"].size(), 4u);
  EXPECT_EQ(result["parameters"][0]["name"], "w");
  EXPECT_EQ(result["parameters"][3]["name"], "x.3");
  EXPECT_THAT(keys(result["parameters"][0]), ElementsAre("name", "mean", "sd", "q5", "q50", "q95",
                                                         "mcse_mean", "ess_bulk", "ess_tail", "rhat"));
  EXPECT_EQ(json_file("run/summary.json"), json::parse(outcome.out));
  EXPECT_THAT(outcome.err, HasSubstr("files: run"));
  EXPECT_THAT(outcome.err, HasSubstr("sampler: nuts: the model has a gradient"));
  EXPECT_EQ(json_file("run/run.json").at("choice"), json::parse(outcome.out).at("choice"));
  EXPECT_EQ(json_file("run/run.json").at("settings").at("sampler"), choice["sampler"]);
}

TEST_F(Sample, ANamedSamplerIsNotChosen) {
  const std::string line = "sample funnel --dim 3 --chains 2 --draws 50 --warmup 200 --seed 5 --json ";
  const auto named = json::parse(onward(line + "--out named --sampler newton-line").out);
  EXPECT_EQ(named.at("sampler"), "newton-line");
  EXPECT_FALSE(named.contains("choice"));
  EXPECT_FALSE(json_file("named/run.json").contains("choice"));
  const auto fixed = json::parse(onward(line + "--out none --sampler auto --step-size 0.5").out);
  EXPECT_EQ(fixed.at("sampler"), "pc-line-fmala");
  EXPECT_FALSE(fixed.contains("choice"));
  EXPECT_EQ(fixed.at("gradients"), 0);
}

TEST_F(Sample, TheChoiceCanBeRepeatedByName) {
  const std::string line = "sample gaussian --dim 3 --chains 2 --draws 50 --seed 5 --quiet --out ";
  ASSERT_EQ(onward(line + "chosen --sampler auto").code, 0);
  const auto run = json_file("chosen/run.json");
  const auto& settings = run.at("settings");
  ASSERT_EQ(onward(line + "named --sampler " + settings.at("sampler").get<std::string>() + " --thin " +
                   std::to_string(settings.at("thin").get<int>()) + " --warmup " +
                   std::to_string(settings.at("warmup").get<int>()))
                .code,
            0);
  EXPECT_EQ(settings.at("thin"), run.at("choice").at("thin"));
  EXPECT_TRUE(get(path("chosen/chain-2.csv")) == get(path("named/chain-2.csv")));
}

TEST_F(Sample, TakesTheOptionsOfLineSamplers) {
  const std::string line =
      "sample funnel --dim 2 --sampler newton-line --draws 20 --warmup 60 --seed 1 --quiet --out ";
  int n = 0;
  const auto settings_of = [&](const std::string& options) {
    const std::string folder = "run" + std::to_string(++n);
    const Outcome outcome = onward(line + folder + " " + options);
    EXPECT_EQ(outcome.code, 0) << options << outcome.err;
    return json_file(folder + "/run.json").at("settings");
  };
  EXPECT_EQ(settings_of("").at("directions"), "frames");
  for (const std::string source : {"sphere", "axes", "blocks", "blocks:w+x.1", "frames*3+axes"})
    EXPECT_EQ(settings_of("--directions " + source).at("directions"), source);
  EXPECT_EQ(settings_of("--tangent fresh").at("tangent"), "fresh");
  EXPECT_EQ(settings_of("--inner 3").at("inner"), 3);
  EXPECT_EQ(settings_of("--relaxation 1.5").at("relaxation"), 1.5);
  EXPECT_EQ(settings_of("--metric lowrank").at("metric"), "lowrank");
  EXPECT_EQ(settings_of("--metric dense").at("metric"), "dense");
  EXPECT_THAT(get(path("run1/chain-1.csv")), HasSubstr("lp__"));
  // the same draws either way
  const auto draws = [&](const std::string& file) {
    const std::string text = get(path(file));
    const auto begin = text.find("# Adaptation terminated");
    EXPECT_NE(begin, std::string::npos);
    return text.substr(begin, text.find("Elapsed") - begin);
  };
  settings_of("--tangent kept");
  EXPECT_EQ(draws("run1/chain-1.csv"), draws("run" + std::to_string(n) + "/chain-1.csv"));
  EXPECT_EQ(draws("run1/chain-1.csv"), draws("run7/chain-1.csv")) << "--tangent fresh";
}

TEST_F(Sample, JsonLeavesManyParametersOutUnlessAskedFor) {
  const std::string line =
      "sample gaussian --dim 1001 --sampler rwm --chains 1 --draws 4 --warmup 10 --thin 1 --seed 1"
      " --out none --json --quiet";
  const auto brief = json::parse(onward(line).out);
  EXPECT_FALSE(brief.contains("parameters"));
  EXPECT_EQ(brief.at("dimension"), 1001);
  EXPECT_EQ(json::parse(onward(line + " --all-parameters").out).at("parameters").size(), 1001u);
}

TEST_F(Sample, QuietSilencesStderr) {
  // Few draws of a funnel: without --quiet there are warnings.
  const std::string line = "sample funnel --draws 20 --warmup 20 --seed 1 --out ";
  EXPECT_THAT(onward(line + "loud").err, HasSubstr("warning: "));
  const Outcome quiet = onward(line + "quiet --quiet");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_THAT(quiet.out, HasSubstr("rhat"));
}

TEST_F(Sample, SameSeedSameBytes) {
  const std::string line = "sample funnel --dim 10 --chains 4 --seed 7 --quiet";
  ASSERT_EQ(onward(line + " --threads 1 --out one").code, 0);
  ASSERT_EQ(onward(line + " --threads 2 --out two").code, 0);
  ASSERT_EQ(onward(line + " --threads 2 --out again").code, 0);
  ASSERT_EQ(onward("sample funnel --dim 10 --chains 4 --seed 8 --quiet --out other").code, 0);
  for (const std::string chain : {"/chain-1.csv", "/chain-2.csv", "/chain-3.csv", "/chain-4.csv"}) {
    const std::string bytes = get(path("one" + chain));
    EXPECT_GT(bytes.size(), 100'000u);
    EXPECT_TRUE(bytes == get(path("two" + chain))) << chain;
    EXPECT_TRUE(bytes == get(path("again" + chain))) << chain;
    EXPECT_FALSE(bytes == get(path("other" + chain))) << chain;
  }
  // The draws differ, not the seed in the header alone; chains differ too.
  const auto last_draw = [&](const std::string& file) {
    const std::string text = get(path(file));
    const auto end = text.find("\n# \n#  Elapsed");
    return text.substr(text.rfind('\n', end - 1), end);
  };
  EXPECT_NE(last_draw("one/chain-1.csv"), last_draw("other/chain-1.csv"));
  EXPECT_NE(last_draw("one/chain-1.csv"), last_draw("one/chain-2.csv"));
}

TEST_F(Sample, WithoutASeedOneIsReportedThatRepeatsTheRun) {
  const std::string line = "sample gaussian --draws 20 --warmup 20 --quiet --out ";
  ASSERT_EQ(onward(line + "first").code, 0);
  const auto seed = json_file("first/run.json").at("settings").at("seed").get<std::uint64_t>();
  ASSERT_EQ(onward(line + "second --seed " + std::to_string(seed)).code, 0);
  EXPECT_TRUE(get(path("first/chain-3.csv")) == get(path("second/chain-3.csv")));
}

TEST_F(Sample, EverySamplerAndModelRuns) {
  for (const std::string sampler :
       {"rwm", "mala", "fmala", "line-fmala", "pc-fmala", "pc-line-fmala", "newton-line", "nuts"}) {
    const Outcome outcome = onward("sample eight-schools --sampler " + sampler +
                                   " --draws 20 --warmup 50 --seed 1 --quiet --out none");
    EXPECT_EQ(outcome.code, 0) << sampler << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(" by " + sampler + ","));
    EXPECT_THAT(onward("samplers").out, HasSubstr(sampler + " "));
  }
  for (const auto& model : json::parse(onward("models --json").out)) {
    const auto name = model.at("name").get<std::string>();
    const std::set<std::string> with_data{"autoregression", "glm", "net", "plugin", "program", "umbridge"};
    EXPECT_EQ(model.at("needs_data"), with_data.contains(name)) << name;
    if (model.at("needs_data")) continue;  // they have tests of their own
    EXPECT_EQ(onward("sample " + name + " --draws 20 --warmup 50 --seed 1 --quiet --out none").code, 0)
        << name;
  }
}

class Summary : public Program {};

TEST_F(Summary, OfARunIsTheTableThatSamplePrinted) {
  const Outcome sampled = onward("sample eight-schools --draws 200 --seed 3 --out run");
  const Outcome summary = onward("summary run");
  EXPECT_EQ(summary.code, 0) << summary.err;
  EXPECT_THAT(summary.out, HasSubstr("ess_bulk"));
  EXPECT_THAT(sampled.out, HasSubstr(summary.out));
  EXPECT_EQ(onward("summary run/chain-1.csv run/chain-2.csv run/chain-3.csv run/chain-4.csv").out,
            summary.out);

  const auto figures = json::parse(onward("summary run --json --quiet").out);
  const auto kept = json_file("run/summary.json");
  EXPECT_EQ(figures.at("model"), "eight-schools");
  for (const char* key : {"chains", "draws", "parameters", "max_rhat", "min_ess_bulk", "min_ess_tail"})
    EXPECT_EQ(figures.at(key), kept.at(key)) << key;
}

TEST_F(Summary, OfCmdStansOwnFile) {
  put("output.csv",
      "# stan_version_major = 2\n"
      "# stan_version_minor = 35\n"
      "# stan_version_patch = 0\n"
      "# model = coin_model\n"
      "# method = sample (Default)\n"
      "#   sample\n"
      "#     num_samples = 4\n"
      "#     num_warmup = 2\n"
      "#     save_warmup = true\n"
      "#     thin = 1 (Default)\n"
      "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,theta,eta.1\n"
      "-9,0.9,0.5,2,3,0,9.1,100,100\n"
      "-9,0.9,0.5,2,3,0,9.1,100,100\n"
      "# Adaptation terminated\n"
      "# Step size = 0.75\n"
      "# Diagonal elements of inverse mass matrix:\n"
      "# 0.5, 0.25\n"
      "-7,0.9,0.75,2,3,0,7.1,4,-1\n"
      "-7,0.9,0.75,2,3,0,7.1,1,-1\n"
      "-7,0.9,0.75,2,3,0,7.1,3,1\n"
      "-7,0.9,0.75,2,3,0,7.1,2,1\n"
      "# \n"
      "#  Elapsed Time: 0.005 seconds (Warm-up)\n"
      "#                0.012 seconds (Sampling)\n"
      "#                0.017 seconds (Total)\n"
      "# \n");
  const Outcome outcome = onward("summary output.csv --json --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto result = json::parse(outcome.out);
  EXPECT_EQ(result.at("model"), "coin_model");
  EXPECT_EQ(result.at("chains"), 1);
  EXPECT_EQ(result.at("draws"), 4);
  ASSERT_EQ(result.at("parameters").size(), 2u);
  const auto& theta = result.at("parameters")[0];
  EXPECT_EQ(theta.at("name"), "theta");
  EXPECT_DOUBLE_EQ(theta.at("mean"), 2.5);
  EXPECT_DOUBLE_EQ(theta.at("sd"), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(theta.at("q50"), 2.5);
  EXPECT_EQ(result.at("parameters")[1].at("name"), "eta.1");
  EXPECT_THAT(onward("summary output.csv").out, HasSubstr("eta.1"));
}

TEST_F(Summary, LeavesChainsWithoutDrawsOutAndSaysSo) {
  const std::string head = "lp__,theta\n", rows = "0,1\n0,2\n0,3\n0,5\n";
  std::filesystem::create_directory(path("run"));
  put("run/chain-1.csv", head + rows);
  put("run/chain-2.csv", head);
  put("run/chain-3.csv", head + rows + "0,6\n0,7");
  const Outcome outcome = onward("summary run --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1 of 3 chains have no draws and are left out"));
  EXPECT_THAT(outcome.err, HasSubstr("4 to 5 draws; the first 4 of each are used"));
  EXPECT_THAT(outcome.err, HasSubstr("chain-3.csv ends within a line"));
  const auto result = json::parse(outcome.out);
  EXPECT_EQ(result.at("chains"), 2);
  EXPECT_EQ(result.at("draws"), 4);
  EXPECT_DOUBLE_EQ(result.at("parameters")[0].at("mean"), 2.75);
}

TEST_F(Summary, OfWhatIsNoRun) {
  cannot("summary nowhere", {"cannot read nowhere", "Check the name"});
  std::filesystem::create_directory(path("empty"));
  cannot("summary empty", {"no chain-1.csv in empty"});
  put("text.csv", "");
  cannot("summary text.csv", {"text.csv", "no line with column names"});
  put("a.csv", "lp__,theta\n0,1\n");
  put("b.csv", "lp__,phi\n0,1\n");
  cannot("summary a.csv b.csv", {"a.csv and b.csv have different columns"});
  put("word.csv", "lp__,theta\n0,word\n");
  cannot("summary word.csv", {"word.csv", "word"});
}

class Evaluate : public Program {
 protected:
  nlohmann::ordered_json evaluate(const std::string& line) const {
    const Outcome outcome = onward("evaluate " + line + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return nlohmann::ordered_json::parse(outcome.out);
  }
};

TEST_F(Evaluate, AtZerosAlongAnAxis) {
  // log density of the funnel: -w²/18 + D w/2 - exp(w) |x|²/2
  const auto w = evaluate("funnel --dim 2 --at zeros --direction axis:0");
  EXPECT_THAT(keys(w), ElementsAre("value", "slope", "curvature"));
  EXPECT_DOUBLE_EQ(w["value"], 0);
  EXPECT_DOUBLE_EQ(w["slope"], 1);
  EXPECT_DOUBLE_EQ(w["curvature"], -1.0 / 9);
  const auto x = evaluate("funnel --dim 2 --at zeros --direction axis:2");
  EXPECT_DOUBLE_EQ(x["slope"], 0);
  EXPECT_DOUBLE_EQ(x["curvature"], -1);
}

TEST_F(Evaluate, AtAPlaceAndDirectionFromFiles) {
  put("at.json", "[0.5, 1, -2]");
  put("along.json", "[0, 3, 1]");
  const auto jet = evaluate("funnel --dim 2 --at at.json --direction along.json");
  EXPECT_DOUBLE_EQ(jet["value"], -0.25 / 18 + 0.5 - std::exp(0.5) * 2.5);
  EXPECT_DOUBLE_EQ(jet["slope"], -std::exp(0.5));           // -e^w (3·1 + 1·(-2))
  EXPECT_DOUBLE_EQ(jet["curvature"], -10 * std::exp(0.5));  // -e^w (9 + 1)
}

TEST_F(Evaluate, OrdersSayHowMuch) {
  EXPECT_THAT(keys(evaluate("gaussian --order 0")), ElementsAre("value"));
  EXPECT_THAT(keys(evaluate("gaussian --order 1")), ElementsAre("value", "slope"));
  EXPECT_THAT(keys(evaluate("gaussian --order 1 --gradient")), ElementsAre("value", "slope", "gradient"));
  EXPECT_EQ(evaluate("gaussian --order 0")["value"], evaluate("gaussian --order 2")["value"]);
}

TEST_F(Evaluate, GradientEqualsSlopesAlongAxes) {
  for (const std::string model :
       {"funnel --dim 3", "eight-schools", "rosenbrock --dim 4", "gaussian --dim 4"}) {
    const std::string line = model + " --at random:0.7 --seed 3";
    const auto gradient = evaluate(line + " --gradient")["gradient"];
    ASSERT_GE(gradient.size(), 4u);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double slope = evaluate(line + " --order 1 --direction axis:" + std::to_string(i))["slope"];
      EXPECT_NEAR(gradient[i].get<double>(), slope, 1e-12 * (1 + std::abs(slope))) << model << " axis " << i;
    }
  }
}

TEST_F(Evaluate, TemperatureDividesTheLogDensity) {
  const auto cold = evaluate("funnel --seed 4");
  const auto hot = evaluate("funnel --seed 4 --temperature 4");
  for (const char* key : {"value", "slope", "curvature"})
    EXPECT_DOUBLE_EQ(hot[key].get<double>(), cold[key].get<double>() / 4) << key;
}

TEST_F(Evaluate, PlainTextHasTheSameFigures) {
  const auto jet = evaluate("funnel --dim 2 --at zeros --direction axis:0 --gradient");
  EXPECT_EQ(onward("evaluate funnel --dim 2 --at zeros --direction axis:0 --gradient").out,
            "value     0\nslope     1\ncurvature -0.1111111111111111\n"
            "gradient  0 1\ngradient  1 0\ngradient  2 0\n");
  EXPECT_EQ(jet["gradient"], (json{1.0, 0.0, 0.0}));
}

TEST_F(Evaluate, WrongAxisOrOrder) {
  for (const std::string axis : {"axis:3", "axis:-1", "axis:x", "axis:"})
    wrong_usage("evaluate funnel --dim 2 --direction " + axis, {"--direction " + axis, "axis:0 to axis:2"});
  wrong_usage("evaluate funnel --order 3", {"--order 3", "2 (curvature)"});
  wrong_usage("evaluate funnel --order two", {"--order two", "whole number"});
}

TEST_F(Evaluate, WhereTheDensityIsNotFinite) {
  const Outcome outcome = onward("evaluate funnel --at random:1e300 --json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(json::parse(outcome.out).at("value").is_null());
  EXPECT_THAT(outcome.err, HasSubstr("funnel has no finite value"));
  EXPECT_THAT(outcome.err, HasSubstr("--at random:1e300; try another place"));
}

TEST(Lists, AreTextOrJson) {
  for (const std::string list : {"models", "samplers"}) {
    const Outcome text = Started({list}, {.folder = "."}).wait();
    const Outcome rows = Started({list, "--json"}, {.folder = "."}).wait();
    EXPECT_EQ(text.code, 0);
    EXPECT_EQ(rows.code, 0);
    for (const auto& row : json::parse(rows.out)) {
      EXPECT_THAT(text.out, HasSubstr(row.at("name").get<std::string>()));
      EXPECT_THAT(text.out, HasSubstr(row.at("summary").get<std::string>()));
    }
  }
}

}  // namespace
}  // namespace onward::testing
