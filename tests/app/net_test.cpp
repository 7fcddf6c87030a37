// Networks as a user samples them: `onward sample net` and `onward evaluate net`.

#include <cmath>

#include "net_program.hpp"
#include "onward/io/safetensors.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Net, OfOneLinearLayerIsARegression) {
  const std::string data = " --x x.npy --y y.npy --sigma 0.3 --out none";
  const json net = sampled("net --net linear.json --prior-sd 2 --sampler newton-line --warmup 2000" + data);
  const json glm = sampled("glm --family gaussian --prior normal:2 --prior-intercept normal:2" + data);
  ASSERT_EQ(net.at("parameters").size(), 3u);
  const std::vector<std::size_t> order{1, 2, 0};  // the intercept comes first in one and last in the other
  for (std::size_t i = 0; i < 3; ++i) {
    const json &p = net["parameters"][i], &q = glm["parameters"][order[i]];
    // Means of runs of the same posterior: 5.5 standard errors, one false alarm in 3e7.
    const double error = std::hypot(p["mcse_mean"].get<double>(), q["mcse_mean"].get<double>());
    EXPECT_NEAR(p["mean"].get<double>(), q["mean"].get<double>(), 5.5 * error);
    EXPECT_NEAR(p["sd"].get<double>() / q["sd"].get<double>(), 1, 0.15);
  }
  EXPECT_EQ(net["parameters"][0]["name"], "0.weight.1.1");
  EXPECT_EQ(net["predictions"]["of"], "training");
  EXPECT_EQ(net["predictions"]["rows"], rows);
  EXPECT_NEAR(net["predictions"]["rmse"].get<double>(), 0.3, 0.1);
}

TEST_F(Net, SmallNetworksAreSampledLikeAnyModel) {
  const json result = sampled(
      "net --net tanh.json --x x.npy --y y.npy --sampler pc-line-fmala --warmup 500 --draws 20 --chains 2 "
      "--show weights --out run");
  EXPECT_EQ(result.at("dimension"), 18);
  EXPECT_EQ(result.at("parameters").back().at("name"), "sigma");
  EXPECT_EQ(result.at("parameters").size(), 18u);
  const json run = json_file("run/run.json");
  EXPECT_EQ(run.at("model").at("net"), "tanh.json");
  EXPECT_EQ(run.at("model").at("likelihood"), "gaussian");
  EXPECT_EQ(run.at("model").at("derived").at("layers").at("layers").size(), 3u);
  EXPECT_EQ(run.at("settings").at("init"), "lecun");
  for (const char* file :
       {"chain-2.csv", "chain-2.safetensors", "predictions.npy", "predictions-sd.npy", "draws.png"})
    EXPECT_TRUE(fs::exists(path("run") / file)) << file;
  EXPECT_FALSE(fs::exists(path("run/chain-1.npy")));
  EXPECT_EQ(onward("summary run").code, 0);
}

TEST_F(Net, PredictionsOverOneInputAreDrawn) {
  std::vector<double> x, y, labels;
  for (std::size_t i = 0; i < rows; ++i) {
    x.push_back(0.1 * static_cast<double>(i % 40));
    y.push_back(std::sin(x.back()) + (i % 2 == 0 ? 0.1 : -0.1));
    labels.push_back(x.back() > 2 ? 1 : 0);
  }
  save("one-x.npy", x, {rows, 1});
  save("one-y.npy", y);
  save("one-label.npy", labels);
  put("one.json", R"({"input": 1, "layers": [{"kind": "linear", "outputs": 3}, "tanh",
                                             {"kind": "linear", "outputs": 1}]})");
  put("classes.json", R"({"input": 1, "layers": [{"kind": "linear", "outputs": 2}]})");
  const std::string rest = " --sampler newton-line --warmup 200 --draws 20 --chains 2 --out ";
  sampled("net --net one.json --x one-x.npy --y one-y.npy" + rest + "numbers");
  sampled("net --net one.json --x one-x.npy --y one-y.npy --standardise" + rest + "units");
  sampled("net --net classes.json --x one-x.npy --y one-label.npy --likelihood softmax" + rest + "classes");
  for (const std::string run : {"numbers", "units", "classes"})
    EXPECT_TRUE(fs::exists(path(run + "/predictions.png"))) << run;
  sampled("net --net tanh.json --x x.npy --y y.npy" + rest + "wide");  // two inputs cannot be drawn so
  EXPECT_FALSE(fs::exists(path("wide/predictions.png")));
}

TEST_F(Net, HiddenUnitsCanChangePlacesSoPredictionsAreShown) {
  const std::string words =
      "net --net tanh.json --x x.npy --y y.npy --sampler newton-line --warmup 500 --draws 20 --chains 2 "
      "--out none";
  const json result = sampled(words);
  EXPECT_EQ(result.at("dimension"), 18);
  ASSERT_EQ(result.at("parameters").size(), 21u);
  EXPECT_EQ(result["parameters"][0]["name"], "f.1");
  EXPECT_EQ(result["parameters"][20]["name"], "sigma");
  wrong_usage("sample " + words + " --show weight", {"--show 'weight'", "Did you mean weights?"});
}

TEST_F(Net, LargeNetworksAreLookedAtByWhatTheyPredict) {
  const std::string words =
      "net --net large.json --x x.npy --y y.npy --sigma 0.3 --warmup 50 --draws 4 --thin 2 --chains 1";
  const json result = sampled(words + " --format npy --out one --threads 1");
  EXPECT_EQ(result.at("dimension"), 1201);
  EXPECT_EQ(result.at("sampler"), "pc-line-fmala");
  EXPECT_EQ(result.at("settings").at("metric"), "none");
  ASSERT_EQ(result.at("parameters").size(), 20u);
  EXPECT_EQ(result["parameters"][0]["name"], "f.1");
  const NpyArray draws = read_npy(path("one/chain-1.npy"));
  EXPECT_EQ(draws.shape, (std::vector<std::size_t>{4, 1201}));
  EXPECT_LT(fs::file_size(path("one/chain-1.csv")), 20'000u);
  EXPECT_LT(fs::file_size(path("one/run.json")), 10'000u);
  // Threads share the rows of a lone chain; the draws do not depend on it.
  sampled(words + " --format npy --out two --threads 2");
  for (const char* file : {"chain-1.npy", "chain-1.csv", "predictions.npy", "chain-1.safetensors"})
    EXPECT_EQ(get(path("one") / file), get(path("two") / file)) << file;
  // By default the draws themselves are not written.
  sampled(words + " --out three");
  EXPECT_FALSE(fs::exists(path("three/chain-1.npy")));
}

TEST_F(Net, LinesWithinLayersKeepActivationsAndDraws) {
  const std::string words =
      "net --net large.json --x x.npy --y y.npy --warmup 50 --draws 4 --thin 30 --chains 1 --format npy "
      "--directions blocks";
  expect_same_kept_or_not(words);
  // Layer 0 has 900 of 1,202 parameters and the first 74 steps of a sweep of 100. Draws are those of steps
  // 80, 110 and 140: the last layer moves before the second of them and not before the third.
  const NpyArray draws = read_npy(path("kept/chain-1.npy"));
  const auto differs = [&](std::size_t draw, std::size_t parameter) {
    return draws.as<float>()[draw * 1202 + parameter] != draws.as<float>()[(draw - 1) * 1202 + parameter];
  };
  EXPECT_TRUE(differs(1, 900));
  EXPECT_TRUE(differs(2, 0));
  EXPECT_FALSE(differs(2, 900));
  const std::string wrong = "sample net --net large.json --x x.npy --y y.npy --sigma 1 --out none ";
  wrong_usage(wrong + "--directions blocks:1", {"no block '1'", "Blocks: 0, 2"});
  wrong_usage(wrong + "--directions blocks --keep-activations some", {"--keep-activations some", "300M"});
  cannot(wrong + "--directions blocks --keep-activations 2M --max-memory 1M",
         {"--max-memory 1M", "8 MB of it for --keep-activations"});
}

TEST_F(Net, DrawsAreTheSameWithoutVectors) {
  const std::string words =
      "net --net large.json --x x.npy --y y.npy --warmup 30 --draws 5 --thin 4 --chains 2 --format npy "
      "--seed 4 --sampler ";
  for (const std::string sampler : {"rwm", "fmala", "pc-line-fmala", "newton-line"}) {
    sampled(words + sampler + " --directions sphere --metric none --out held-" + sampler);
    sampled(words + sampler + " --vectors regenerated --out read-" + sampler);
    EXPECT_EQ(get(path("held-" + sampler + "/chain-2.npy")), get(path("read-" + sampler + "/chain-2.npy")));
  }
  const std::string wrong = "sample net --net large.json --x x.npy --y y.npy --out none --vectors ";
  wrong_usage(wrong + "none", {"--vectors 'none'", "held or regenerated"});
  wrong_usage(wrong + "regenerated", {"--vectors regenerated", "--sampler pc-line-fmala"});
  const std::string line = wrong + "regenerated --sampler pc-line-fmala ";
  wrong_usage(line + "--directions frames",
              {"--vectors regenerated", "not frames", "leave --directions out"});
  wrong_usage(line + "--metric diag", {"--vectors regenerated", "diag", "leave --metric out"});
  wrong_usage(wrong + "regenerated --sampler mala", {"--vectors regenerated", "mala", "gradient"});
  wrong_usage("sample funnel --sampler rwm --vectors regenerated --out none",
              {"--vectors regenerated", "as net does"});
}

TEST_F(Net, LinesWithinUnits) {
  const std::string words =
      "net --net large.json --x x.npy --y y.npy --warmup 0 --step-size 1 --sampler pc-line-fmala --draws 3 "
      "--thin 1 --chains 1 --format npy --seed 4 --directions units";
  expect_same_kept_or_not(words);
  const NpyArray draws = read_npy(path("kept/chain-1.npy"));
  std::size_t moved = 0;
  for (std::size_t i = 0; i < 1202; ++i) moved += draws.as<float>()[1202 + i] != draws.as<float>()[i] ? 1 : 0;
  EXPECT_EQ(moved, 3u);  // two inputs and a bias
  wrong_usage("sample funnel --directions units", {"--directions units", "networks"});
}

TEST_F(Net, GoesOnFromTheLastWeights) {
  const std::string words =
      "net --net large.json --x x.npy --y y.npy --sigma 0.3 --draws 2 --thin 1 --chains 1 ";
  sampled(words + "--warmup 20 --format npy --out one");
  // A step so small that the next draw is the start.
  sampled(words +
          "--warmup 0 --sampler rwm --step-size 1e-12 --format npy --out two --init one/chain-1.safetensors");
  const NpyArray one = read_npy(path("one/chain-1.npy")), two = read_npy(path("two/chain-1.npy"));
  for (std::size_t i = 0; i < 1201; ++i) EXPECT_NEAR(two.as<float>()[i], one.as<float>()[1201 + i], 1e-6f);
  EXPECT_EQ(json_file("two/run.json").at("settings").at("init"), "one/chain-1.safetensors");
}

TEST_F(Net, StartsFromVectorsWithAndWithoutSigma) {
  const std::string words =
      "evaluate net --net linear.json --x x.npy --y y.npy --direction axis:0 --json --at ";
  save("three.npy", std::vector<double>{1, -0.5, 0.5});
  save("four.npy", std::vector<double>{1, -0.5, 0.5, std::log(0.3)});
  save("one.npy", std::vector<double>{1, -0.5, 0.5, 0});
  const Outcome three = onward(words + "three.npy"), four = onward(words + "four.npy"),
                one = onward(words + "one.npy");
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_EQ(three.out, one.out);  // sigma is 1 unless it is said
  EXPECT_NE(three.out, four.out);
}

TEST_F(Net, ClassesOfImages) {
  const json result = sampled(
      "net --net conv.json --x images.npy --y classes.npy --standardise --test-x images.npy --test-y "
      "classes.npy "
      "--test-images 30 --sampler newton-line --warmup 2000 --draws 50 --thin 20 --chains 2 --out run");
  EXPECT_EQ(result["predictions"]["of"], "test");
  EXPECT_EQ(result["predictions"]["rows"], 30);
  EXPECT_EQ(result["predictions"]["accuracy"], 1.0);
  EXPECT_EQ(read_npy(path("run/predictions.npy")).shape, (std::vector<std::size_t>{30, 2}));
  EXPECT_FALSE(fs::exists(path("run/predictions-sd.npy")));
  const json units = json_file("run/run.json").at("model").at("derived").at("standardised").at("x");
  EXPECT_EQ(units.at("mean").size(), 1u);
  EXPECT_GT(units["sd"][0].get<double>(), 0.1);
  const auto weights = SafeTensors::read(path("run/chain-1.safetensors"));
  EXPECT_NE(weights.find("1.running_var"), nullptr);
  // Without statistics that is worth a note.
  const Outcome outcome = onward(
      "sample net --net conv.json --x images.npy --y classes.npy --sampler rwm --warmup 10 "
      "--draws 2 --out none --seed 1");
  EXPECT_THAT(outcome.err, HasSubstr("running statistics"));
  EXPECT_THAT(
      onward("sample net --net conv.json --x images.npy --y classes.npy --sampler rwm --warmup 10 --draws 2 "
             "--out none --seed 1 --init run/chain-1.safetensors")
          .err,
      Not(HasSubstr("running statistics")));
  // They are part of the model: run.json says where they are from, and the start need not be the weights
  // then.
  const std::string at =
      "evaluate net --net conv.json --x images.npy --y classes.npy --direction axis:0 --at ";
  const std::string file = "run/chain-1.safetensors";
  sampled(
      "net --net conv.json --x images.npy --y classes.npy --sampler rwm --warmup 10 --draws 2 --out again "
      "--init " +
      file);
  EXPECT_EQ(json_file("again/run.json").at("model").at("statistics"), file);
  EXPECT_EQ(onward(at + file).out, onward(at + file + " --statistics " + file).out);
  EXPECT_EQ(onward(at + "zeros --statistics " + file).code, 0);
}

TEST_F(Net, GradientsOfEveryFormSampleTheSame) {
  const std::string words =
      "net --net tanh.json --show weights --x x.npy --y y.npy --sampler mala --step-size 0.01 --warmup 0 "
      "--draws 3 --chains 1 --out none --gradient ";
  const json whole = sampled(words + "whole"), pieces = sampled(words + "pieces --piece 7"),
             checkpoint = sampled(words + "checkpoint --piece 7");
  for (std::size_t i = 0; i < 18; ++i) {
    const double mean = whole["parameters"][i]["mean"].get<double>();
    EXPECT_NEAR(pieces["parameters"][i]["mean"].get<double>(), mean, 1e-4);
    EXPECT_NEAR(checkpoint["parameters"][i]["mean"].get<double>(), mean, 1e-4);
  }
}

TEST_F(Net, EvaluateGivesJetsAndGradients) {
  const Outcome outcome = onward(
      "evaluate net --net tanh.json --x x.npy --y y.npy --sigma 0.3 --at lecun --seed 3 --direction axis:2 "
      "--gradient "
      "--json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json jet = json::parse(outcome.out);
  ASSERT_EQ(jet.at("gradient").size(), 17u);
  EXPECT_NEAR(jet["slope"].get<double>() / jet["gradient"][2].get<double>(), 1, 1e-4);
  EXPECT_NE(jet["curvature"].get<double>(), 0);
}

}  // namespace
}  // namespace onward::testing
