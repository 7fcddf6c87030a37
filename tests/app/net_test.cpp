// Networks as a user samples them: `onward sample net` and `onward evaluate net`.

#include <cmath>
#include <cstring>

#include "onward/io/npy.hpp"
#include "onward/io/safetensors.hpp"
#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t rows = 60;

class Net : public Program {
 protected:
  template <class T>
  void save(const std::string& name, const std::vector<T>& values,
            std::vector<std::size_t> shape = {}) const {
    NpyArray array;
    array.shape = shape.empty() ? std::vector{values.size()} : std::move(shape);
    array.dtype = detail::npy_dtype<T>();
    array.data.resize(values.size() * sizeof(T));
    std::memcpy(array.data.data(), values.data(), array.data.size());
    write_npy(path(name), array);
  }

  /// Draws do not depend on whether activations are kept. Leaves the runs "kept" and "recomputed".
  void expect_same_kept_or_not(const std::string& words) const {
    sampled(words + " --out kept");
    sampled(words + " --keep-activations 0 --out recomputed");
    EXPECT_EQ(get(path("kept/chain-1.npy")), get(path("recomputed/chain-1.npy")));
  }

  /// Two inputs; y is linear with noise, classes are its sign; and small images of two brightnesses.
  void SetUp() override {
    const Stream stream(5, 0);
    std::vector<double> x(2 * rows), noise(rows), y(rows);
    stream.normals(0, Purpose::noise, x);
    stream.normals(1, Purpose::noise, noise);
    std::vector<std::int64_t> classes(rows);
    std::vector<std::uint8_t> pixels(rows * 16);
    for (std::size_t i = 0; i < rows; ++i) {
      y[i] = 0.5 + x[2 * i] - 0.5 * x[2 * i + 1] + 0.3 * noise[i];
      classes[i] = y[i] > 0 ? 1 : 0;
      for (std::size_t j = 0; j < 16; ++j)
        pixels[16 * i + j] = static_cast<std::uint8_t>(100 * classes[i] + static_cast<std::int64_t>(j));
    }
    save("x.npy", x, {rows, 2});
    save("y.npy", y);
    save("classes.npy", classes);
    save("images.npy", pixels, {rows, 1, 4, 4});
    put("linear.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 1}]})");
    put("tanh.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 4}, "tanh",
                                                {"kind": "linear", "outputs": 1}]})");
    put("large.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 300}, "relu",
                                                 {"kind": "linear", "outputs": 1}]})");
    put("two.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 2}]})");
    put("conv.json",
        R"({"input": [1, 4, 4], "layers": [{"kind": "conv2d", "channels": 2, "padding": 1}, "batch-norm",
                         "relu", "max-pool", "flatten", {"kind": "linear", "outputs": 2}]})");
  }

  json sampled(const std::string& words) const {
    const Outcome outcome = onward("sample " + words + " --seed 1 --quiet --json");
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }
};

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

TEST_F(Net, WrongRequests) {
  const std::string data = " --x x.npy --y y.npy";
  wrong_usage("sample net" + data, {"--net is missing"});
  wrong_usage("sample net --net linear.json", {"--x", "--data"});
  wrong_usage("sample net --net linear.json --x x.npy", {"--y"});
  wrong_usage("sample net --net linear.json --data mnist" + data, {"--x", "--data"});
  wrong_usage("sample net --net linear.json --data cifar", {"cifar", "Did you mean cifar10?"});
  wrong_usage("sample net --net linear.json --family gaussian" + data, {"--family", "glm"});
  wrong_usage("sample net --net linear.json --dim 3" + data, {"--dim"});
  wrong_usage("sample funnel --net linear.json", {"--net", "belongs to the model net"});
  wrong_usage("sample glm --net linear.json --family gaussian" + data, {"--net", "belongs to the model net"});
  wrong_usage("sample net --net linear.json --likelihood normal" + data, {"normal", "gaussian or softmax"});
  wrong_usage("sample net --net linear.json --gradient all --sampler mala" + data, {"all", "checkpoint"});
  wrong_usage("sample net --net linear.json --prior-sd 0" + data, {"sd is 0"});
  wrong_usage("sample net --net linear.json --likelihood softmax --x x.npy --y classes.npy",
              {"an output for each class", "one output"});
  put("none.json", R"({"input": 2, "layers": ["relu"]})");
  wrong_usage("sample net --net none.json --x x.npy --y classes.npy", {"no parameters", "nothing to sample"});
  wrong_usage("sample net --net linear.json --sigma -1" + data, {"sigma is -1"});
  wrong_usage("sample net --net linear.json --images 0" + data, {"--images 0"});
  wrong_usage("sample net --net linear.json --format hdf" + data, {"hdf", "csv"});
  wrong_usage("sample funnel --format npy", {"npy", "net"});
  wrong_usage("sample net --net linear.json --test-y y.npy" + data, {"--test-x"});
  wrong_usage("sample net --net linear.json --max-memory much" + data, {"--max-memory much", "300M"});
  wrong_usage("evaluate funnel --net linear.json", {"--net", "belongs to the model net"});
}

TEST_F(Net, BadFilesAreNamed) {
  const std::string data = " --x x.npy --y y.npy --sampler rwm";
  cannot("sample net --net none.json" + data, {"none.json"});
  put("broken.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 3}, {"kind": "max-pool"}]})");
  cannot("sample net --net broken.json" + data, {"broken.json", "layer 1 (max-pool)"});
  cannot("sample net --net two.json" + data,
         {"--y y.npy", "rows of 1", "the network gives 2", "--likelihood softmax"});
  save("strange.npy", std::vector<double>(60, std::nan("")), {60});
  cannot("sample net --net two.json --x x.npy --y strange.npy",
         {"--y strange.npy", "row 1", "nan", "finite"});
  put("image.json", R"({"input": [1, 4, 4], "layers": [{"kind": "conv2d", "channels": 2}]})");
  cannot("sample net --net image.json --x images.npy --y classes.npy",
         {"image.json", "layer 0", "images of 2x2x2", "flatten"});
  wrong_usage("sample net --net linear.json --init lecunn" + data, {"no file lecunn", "Did you mean lecun?"});
  wrong_usage("sample net --net linear.json --init random:x" + data, {"random:x", "0 or a positive number"});
  cannot("sample net --net conv.json --x x.npy --y classes.npy", {"--x x.npy has rows of 2", "takes 1x4x4"});
  cannot("sample net --net two.json --x images.npy --y classes.npy", {"rows of 1x4x4", "takes 2"});
  std::vector<std::uint8_t> last(rows * 16);
  save("last.npy", last, {rows, 4, 4, 1});
  cannot("sample net --net conv.json --x last.npy --y classes.npy",
         {"rows of 4x4x1", "takes 1x4x4", "transpose(0, 3, 1, 2)"});
  save("other.npy", last, {rows, 1, 2, 8});
  cannot("sample net --net conv.json --x other.npy --y classes.npy", {"rows of 1x2x8", "takes 1x4x4"});
  save("five.npy", std::vector<double>(5));
  cannot("sample net --net linear.json --x x.npy --y five.npy", {"60 rows", "five.npy has 5"});
  save("none.npy", std::vector<double>(), {0, 2});
  cannot("sample net --net linear.json --x none.npy --y y.npy", {"none.npy has no rows"});
  cannot("sample net --net linear.json --x x.npy --y y.npy --test-x none.npy",
         {"--test-x none.npy has no rows"});
  cannot("sample net --net linear.json --images 61" + data, {"--images 61", "60"});
  std::vector<std::int64_t> classes(rows);
  classes[7] = 2;
  save("far.npy", classes);
  cannot("sample net --net two.json --x x.npy --y far.npy", {"row 8", "class 2", "0 to 1"});
  classes[7] = -1;
  save("below.npy", classes);
  cannot("sample net --net two.json --x x.npy --y below.npy", {"row 8", "class -1"});
  std::vector<double> x(2 * rows);
  x[11] = NAN;
  save("nan.npy", x, {rows, 2});
  cannot("sample net --net linear.json --x nan.npy --y y.npy", {"nan.npy", "row 6", "nan"});
}

TEST_F(Net, WeightsOfAnotherNetworkAndNaNAreRefused) {
  ASSERT_EQ(
      onward("sample net --net tanh.json --x x.npy --y y.npy --sampler rwm --warmup 5 --draws 2 --chains 1 "
             "--seed 1 --out run --quiet")
          .code,
      0);
  const std::string words = " --x x.npy --y y.npy --sampler rwm --init ";
  cannot("sample net --net large.json" + words + "run/chain-1.safetensors",
         {"0.weight is [4, 2]", "[300, 2]"});
  std::string bytes = get(path("run/chain-1.safetensors"));
  put("cut.safetensors", bytes.substr(0, bytes.size() - 2));
  cannot("sample net --net tanh.json" + words + "cut.safetensors", {"cut.safetensors", "promises"});
  const float nan = NAN;
  std::memcpy(bytes.data() + bytes.size() - 4, &nan, 4);
  put("nan.safetensors", bytes);
  cannot("sample net --net tanh.json" + words + "nan.safetensors", {"entry 0", "2.bias", "nan"});
  wrong_usage("sample net --net tanh.json" + words + "y.npy", {"y.npy has 60 entries", "18 parameters"});
  wrong_usage("sample net --net tanh.json" + words + "model.pt",
              {"model.pt", "PyTorch", "safetensors.torch"});
}

TEST_F(Net, NotesOnWhatWasTakenForGranted) {
  const std::string words = "sample net --warmup 5 --draws 2 --thin 1 --seed 1 --out none ";
  const Outcome whole = onward(words + "--net linear.json --x x.npy --y classes.npy --sampler rwm");
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("taken for numbers"));
  EXPECT_THAT(
      onward(words + "--net linear.json --x x.npy --y classes.npy --sampler rwm --likelihood gaussian").err,
      Not(HasSubstr("taken for numbers")));
  std::vector<double> yes(rows);
  for (std::size_t i = 0; i < rows; i += 3) yes[i] = 1;
  save("yes.npy", yes);
  const std::string yes_or_no = "--net linear.json --x x.npy --y yes.npy --sampler rwm";
  EXPECT_THAT(onward(words + yes_or_no).err,
              AllOf(HasSubstr("y holds nothing but 0 and 1"), HasSubstr("--likelihood softmax")));
  EXPECT_THAT(onward(words + yes_or_no + " --likelihood gaussian").err, Not(HasSubstr("0 and 1")));
  const Outcome idle = onward(
      words +
      "--net linear.json --x x.npy --y y.npy --sampler line-fmala --gradient whole --keep-activations 1M");
  EXPECT_THAT(idle.err, HasSubstr("--gradient changes nothing for line-fmala"));
  EXPECT_THAT(idle.err, HasSubstr("--keep-activations changes nothing without --directions blocks"));
}

TEST_F(Net, MoreThanAnyMachineHolds) {
  const std::string data = " --x x.npy --y y.npy --sigma 1 --out none";
  put("vast.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 1000000}, "relu",
                       {"kind": "linear", "outputs": 900000}, "relu", {"kind": "linear", "outputs": 1}]})");
  cannot("sample net --net vast.json" + data, {"900004", "parameters", "GB of this machine's"});
  put("wide.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 1000000}, "relu",
                       {"kind": "linear", "outputs": 1000000}, "relu", {"kind": "linear", "outputs": 1}]})");
  cannot("sample net --net wide.json" + data, {"wide.json: layer 2 (linear)", "1e+12"});
}

TEST_F(Net, MemoryIsToldBeforehand) {
  const std::string data = " --x x.npy --y y.npy --sigma 0.3";
  cannot("sample net --net large.json --max-memory 10k" + data,
         {"--max-memory 10k", "4 chains", "pieces of 1 row", "MB"});
  cannot("sample net --net large.json --max-memory 1M --piece 60" + data,
         {"pieces of 60 rows", "without --piece"});
  cannot("sample net --net large.json --max-memory 200k --sampler mala --gradient whole --chains 1" + data,
         {"--gradient whole would take", "by --max-memory", "checkpoint"});
  EXPECT_EQ(
      onward(
          "sample net --net large.json --max-memory 100M --warmup 5 --draws 2 --seed 1 --out none --quiet" +
          data)
          .code,
      0);
}

}  // namespace
}  // namespace onward::testing
