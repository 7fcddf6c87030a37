// Regressions on plain arrays: `onward sample glm` and `onward evaluate glm`.

#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "glm_program.hpp"
#include "onward/model/model.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Means of two runs of the same posterior differ by chance: their standard errors are known. 5.5 of them:
/// one false alarm in about 3e7 comparisons.
void expect_same_means(const json& a, const json& b) {
  ASSERT_EQ(a.at("parameters").size(), b.at("parameters").size());
  for (std::size_t i = 0; i < a.at("parameters").size(); ++i) {
    const json &p = a["parameters"][i], &q = b["parameters"][i];
    EXPECT_EQ(p["name"], q["name"]);
    const double error = std::hypot(p["mcse_mean"].get<double>(), q["mcse_mean"].get<double>());
    EXPECT_NEAR(p["mean"].get<double>(), q["mean"].get<double>(), 5.5 * error) << p["name"];
  }
}

TEST_F(Glm, AxesAndPlainKernelsAgreeForEveryFamily) {
  for (const std::string words :
       {"--y yes.npy --family bernoulli", "--y yes.npy --family bernoulli --link probit",
        "--y yes.npy --family cloglog", "--y measured.npy --family gaussian",
        "--y counts.npy --family poisson --offset ones.npy",
        "--y counts.npy --family negative-binomial --phi 3",
        "--y yes.npy --family binomial --trials ones.npy --weights ones.npy",
        "--y measured.npy --family gaussian --sigma 0.5 --no-intercept --prior student-t:3:1",
        "--y classes.npy --family categorical"}) {
    SCOPED_TRACE(words);
    expect_same_means(sampled(words), sampled(words + " --sampler newton-line --warmup 2000"));
  }
}

TEST_F(Glm, DefaultPriorsOfGaussianAreInUnitsOfY) {
  std::vector<double> prices(rows);
  const NpyArray measured = read_npy(path("measured.npy"));
  const std::vector<double> y = measured.to_doubles();
  for (std::size_t i = 0; i < rows; ++i) prices[i] = 200'000 + 50'000 * y[i];
  save("prices.npy", prices);
  const json small = sampled("--y measured.npy --family gaussian"),
             large = sampled("--y prices.npy --family gaussian");
  for (std::size_t j = 0; j < small.at("parameters").size(); ++j) {
    const json &p = small["parameters"][j], &q = large["parameters"][j];
    const double shift = p["name"] == "intercept" ? 200'000 : 0;
    const double error =
        50'000 * std::hypot(p["mcse_mean"].get<double>(), q["mcse_mean"].get<double>() / 50'000);
    EXPECT_NEAR(q["mean"].get<double>(), shift + 50'000 * p["mean"].get<double>(), 5.5 * error) << p["name"];
    EXPECT_NEAR(q["sd"].get<double>() / p["sd"].get<double>(), 50'000, 5'000) << p["name"];
  }
}

/// The mean of the slope under the default priors, by the midpoint rule over slope and intercept at the mean.
double slope_by_quadrature(const std::vector<double>& x,
                           const std::function<double(std::size_t, double)>& row, double unit,
                           double centre) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, square = 0;
  for (const double value : x) mean += value / n;
  for (const double value : x) square += (value - mean) * (value - mean) / n;
  const double sd = std::sqrt(square);
  double top = -INFINITY, total = 0, sum = 0;
  constexpr int points = 240;
  std::vector<std::pair<double, double>> cells;  // slope and log density
  for (int a = 0; a < points; ++a)
    for (int b = 0; b < points; ++b) {
      // 6 units of the predictor either way, per sd of x for the slope
      const double intercept = centre + unit * 6 * (2 * (a + 0.5) / points - 1);
      const double slope = unit / sd * 6 * (2 * (b + 0.5) / points - 1);
      double log_density = -0.5 * std::pow((intercept - centre) / (10 * unit), 2) -
                           0.5 * std::pow(slope * sd / (2.5 * unit), 2);
      for (std::size_t i = 0; i < x.size(); ++i) log_density += row(i, intercept + slope * (x[i] - mean));
      cells.emplace_back(slope, log_density);
      top = std::max(top, log_density);
    }
  for (const auto& [slope, log_density] : cells) {
    total += std::exp(log_density - top);
    sum += slope * std::exp(log_density - top);
  }
  return sum / total;
}

/// Predictors in units that put x = 0 far from the data, or make them tiny or large.
TEST_F(Glm, DefaultPriorsSuitAnyUnitsOfThePredictors) {
  constexpr std::size_t few = 31;
  std::vector<double> noise(few), yes(few), measured(few), counts(few);
  Stream(8, 0).normals(0, Purpose::noise, noise);
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < few; ++i) {
    const double eta = (static_cast<double>(i) - 15) / 9;
    yes[i] = noise[i] < 1.2 * eta ? 1 : 0;
    measured[i] = 3 * eta + 2 * noise[i];
    counts[i] = std::floor(std::exp(0.4 * eta + 1 + 0.2 * noise[i]));
    mean += measured[i] / few;
  }
  for (const double y : measured) square += (y - mean) * (y - mean) / few;
  save("some_yes.npy", yes);
  save("some_measured.npy", measured);
  save("some_counts.npy", counts);
  const double sigma = 2;
  for (const auto& [origin, unit] : {std::pair{1990.0, 1.0}, {30e-6, 1e-6}, {5e4, 1e5}, {-40.0, 0.3}}) {
    std::vector<double> units(few);
    for (std::size_t i = 0; i < few; ++i) units[i] = origin + unit * static_cast<double>(i);
    save("units.npy", units, {few, 1});
    const auto check = [&](const std::string& words, double exact) {
      for (const std::string sampler : {"auto", "newton-line", "mala"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", words, sampler, unit));
        // Kernels start near 0 with one width for all: their warm-up needs ordinary units.
        if (sampler != "auto" && (unit < 0.01 || unit > 100)) continue;
        const json result = sampled("--x units.npy --draws 4000 --sampler " + sampler + " " + words);
        const json& slope = result.at("parameters").at(1);
        EXPECT_NEAR(slope["mean"].get<double>(), exact, 5.5 * slope["mcse_mean"].get<double>());
      }
    };
    check("--y some_yes.npy --family bernoulli",
          slope_by_quadrature(
              units, [&](std::size_t i, double eta) { return yes[i] * eta - std::log1p(std::exp(eta)); }, 1,
              0));
    check(
        "--y some_measured.npy --family gaussian --sigma 2",
        slope_by_quadrature(
            units, [&](std::size_t i, double eta) { return -0.5 * std::pow((measured[i] - eta) / sigma, 2); },
            std::sqrt(square), mean));
    check("--y some_counts.npy --family poisson",
          slope_by_quadrature(
              units, [&](std::size_t i, double eta) { return counts[i] * eta - std::exp(eta); }, 1, 0));
  }
}

TEST_F(Glm, PriorsAreStated) {
  const std::string line = "sample glm --x x.npy --draws 20 --seed 1 --quiet ";
  const Outcome yes = onward(line + "--y yes.npy --family bernoulli --out run");
  EXPECT_THAT(
      yes.out,
      HasSubstr("priors: intercept (at the means of the predictors) ~ normal(0, 10); beta.1 ~ normal(0, 2."));
  const json priors = json_file("run/run.json").at("model").at("derived").at("priors");
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < rows; ++i) mean += x[2 * i + 1] / rows;
  for (std::size_t i = 0; i < rows; ++i) square += std::pow(x[2 * i + 1] - mean, 2) / rows;
  EXPECT_EQ(priors.at("intercept").at("scale"), 10);
  EXPECT_EQ(priors.at("coefficients").at(1).at("name"), "beta.2");
  EXPECT_NEAR(priors.at("coefficients").at(1).at("scale").get<double>(), 2.5 / std::sqrt(square), 1e-5);
  EXPECT_NEAR(priors.at("coefficients").at(1).at("mean_of_predictor").get<double>(), mean, 1e-6);
  const Outcome given = onward(line + "--y measured.npy --family gaussian --no-intercept --prior normal:3 " +
                               "--prior-scale student-t:4:2 --out none");
  EXPECT_THAT(given.out,
              HasSubstr("priors: beta.1 to beta.2 ~ normal(0, 3); sigma ~ student-t(4, 0, 2), above 0\n"));
}

TEST_F(Glm, ChainsStartWhereTheyCanMoveWithMoreColumnsThanRows) {
  // Widths at the mode are those of the prior here, and 1.5 of them away a count's mean may be e^50.
  constexpr std::size_t few = 20, many = 30;
  std::vector<double> wide(few * many), noise(few), counts(few);
  Stream(5, 0).normals(0, Purpose::noise, wide);
  Stream(5, 0).normals(1, Purpose::noise, noise);
  for (std::size_t i = 0; i < few; ++i) counts[i] = std::floor(std::exp(noise[i]));
  save("wide.npy", wide, {few, many});
  save("few.npy", counts);
  save("measured-few.npy", noise);
  const auto rhat = [&](const std::string& words) {
    const Outcome outcome = onward("sample glm --x wide.npy --seed 1 --out none --quiet --json " + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out).at("max_rhat").get<double>();
  };
  EXPECT_LT(rhat("--y few.npy --family poisson"), 1.05);
  // Sigma and coefficients are coupled closely, but the posterior is proper.
  EXPECT_LT(rhat("--y measured-few.npy --family gaussian --draws 4000"), 1.2);
}

TEST_F(Glm, FamiliesOfOtherProgramsAreKnownByTheirNames) {
  wrong_usage("sample glm --x x.npy --y yes.npy --family logistic", {"logistic", "called bernoulli"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family multinomial", {"called categorical"});
  wrong_usage("sample gml --x x.npy --y yes.npy", {"gml", "Did you mean glm?"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family bernoulli --prior-scale normal:1",
              {"--prior-scale"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family bernoulli --no-intercept --prior-intercept flat",
              {"--prior-intercept", "--no-intercept"});
}

TEST_F(Glm, FlatPriorOfPhiIsRefused) {
  wrong_usage("sample glm --x x.npy --y counts.npy --family negative-binomial --prior-scale flat",
              {"flat prior of phi", "normal or student-t"});
}

TEST_F(Glm, OutcomesFarFromZeroAreNamed) {
  std::vector<double> y = read_npy(path("measured.npy")).to_doubles();
  for (double& each : y) each += 1e7;
  save("far.npy", y);
  cannot("sample glm --x x.npy --y far.npy --family gaussian --out none --prior-intercept flat",
         {"mean 1e+07", "subtract the mean"});
}

TEST_F(Glm, ResultsHaveTheShapeOfAnyRun) {
  const Outcome outcome = onward(
      "sample glm --x x.npy --y yes.npy --family bernoulli --chains 3 --draws 40 --seed 2 --out run --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result.at("model"), "glm");
  EXPECT_EQ(result.at("sampler"), "axes");
  EXPECT_EQ(result.at("settings").at("sampler"), "axes");
  EXPECT_EQ(result.at("settings").at("relaxation"), 1.3);
  EXPECT_FALSE(result.at("settings").contains("step_size"));  // which it has not
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("ESS"), Not(HasSubstr("--metric"))));
  EXPECT_EQ(result.at("dimension"), 3);
  EXPECT_EQ(result.at("chains"), 3);
  EXPECT_EQ(result.at("draws"), 40);
  // Three chains of 100 + 40 sweeps: one evaluation each, or 3 and some again after a rejection.
  EXPECT_GE(result.at("jets"), 3 * 140);
  EXPECT_LT(result.at("jets"), 2 * 3 * 140 * 3);
  EXPECT_EQ(result.at("parameters").at(0).at("name"), "intercept");
  EXPECT_EQ(result.at("parameters").at(2).at("name"), "beta.2");
  EXPECT_EQ(json_file("run/summary.json"), result);
  const json run = json_file("run/run.json");
  EXPECT_EQ(run.at("status"), "complete");
  EXPECT_EQ(run.at("model").at("x"), "x.npy");
  EXPECT_EQ(run.at("model").at("family"), "bernoulli");
  const Outcome again = onward("summary run --json");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, AllOf(HasSubstr("ESS"), Not(HasSubstr("--metric"))));
  EXPECT_EQ(json::parse(again.out).at("parameters").at(1).at("mean"), result["parameters"][1]["mean"]);
}

TEST_F(Glm, TheLibraryBuildsTheSameModelFromRunJsonAndGivesTheSameDraws) {
  const Outcome outcome = onward(
      "sample glm --x x.npy --y counts.npy --family negative-binomial --prior student-t:3:1 --draws 60 "
      "--chains 2 "
      "--seed 5 --quiet --out run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  ModelSpec spec = ModelSpec::from_json(json_file("run/run.json").at("model"));
  spec.files.clear();  // they are named as the program saw them, from the test's folder
  for (const char* file : {"x", "y"})
    spec.options[file] = path(spec.options[file].get<std::string>()).string();
  const onward::Run run = sample(build(spec), {.draws = 60, .chains = 2, .seed = 5});
  const auto listed = run.summary();
  const json result = json_file("run/summary.json");
  ASSERT_EQ(result.at("parameters").size(), listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(result["parameters"][i]["name"], listed[i].name);
    EXPECT_EQ(result["parameters"][i]["mean"].get<double>(), listed[i].mean);
    EXPECT_EQ(result["parameters"][i]["ess_bulk"].get<double>(), listed[i].ess_bulk);
  }
}

TEST_F(Glm, ThreadsDoNotMatter) {
  const std::string line =
      "sample glm --x x.npy --y yes.npy --family bernoulli --seed 5 --quiet --draws 200 ";
  ASSERT_EQ(onward(line + "--threads 1 --out one").code, 0);
  ASSERT_EQ(onward(line + "--threads 3 --out three").code, 0);
  for (int chain = 1; chain <= 4; ++chain) {
    const std::string file = "/chain-" + std::to_string(chain) + ".csv";
    EXPECT_EQ(get(path("one" + file)), get(path("three" + file)));
  }
}

TEST_F(Glm, SummaryGivesNoAdviceThatTheSamplerCannotTake) {
  const std::string line = "sample glm --x x.npy --y yes.npy --family bernoulli --seed 5 --draws 20 ";
  ASSERT_EQ(onward(line + "--quiet --format csv,netcdf --out axes").code, 0);
  for (const char* place : {"axes", "axes/draws.nc"}) {
    const std::string said = onward(std::string("summary ") + place).err;
    EXPECT_THAT(said, HasSubstr("warning: "));
    EXPECT_THAT(said, Not(HasSubstr("--metric dense"))) << place;
  }
  ASSERT_EQ(onward(line + "--quiet --sampler mala --metric diag --out kernel").code, 0);
  EXPECT_THAT(onward("summary kernel").err, HasSubstr("--metric dense"));
}

TEST_F(Glm, ThinningKeepsEveryKthSweep) {
  const std::string line = "sample glm --x x.npy --y yes.npy --family bernoulli --seed 5 --quiet --chains 1 ";
  ASSERT_EQ(onward(line + "--draws 20 --out all").code, 0);
  ASSERT_EQ(onward(line + "--draws 10 --thin 6 --out some").code, 0);  // 6 steps: two sweeps of 3
  const auto last_draw = [&](const std::string& run) {
    std::string last;
    std::istringstream lines(get(path(run + "/chain-1.csv")));
    for (std::string one; std::getline(lines, one);)
      if (!one.empty() && one[0] != '#') last = one;
    return last.substr(0, last.find(','));
  };
  EXPECT_EQ(last_draw("all"), last_draw("some"));
}

TEST_F(Glm, ArraysOfOtherTypesAndOrdersAreTheSameData) {
  std::vector<double> by_column(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < 2; ++j) by_column[j * rows + i] = x[2 * i + j];
  save("by_column.npy", by_column, {rows, 2}, true);
  save("floats.npy", std::vector<float>(x.begin(), x.end()), {rows, 2});
  const std::string words = " --y yes.npy --family bernoulli --draws 20";
  const json expected = sampled(words);
  for (const char* other : {"by_column.npy", "floats.npy"})
    EXPECT_EQ(sampled(words + " --x " + other).at("parameters"), expected.at("parameters")) << other;

  std::vector<std::uint8_t> bytes(2 * rows);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = x[i] > 0 ? 1 : 0;
  save("bytes.npy", bytes, {rows, 2});
  save("same.npy", std::vector<double>(bytes.begin(), bytes.end()), {rows, 2});
  expect_same_means(sampled("--x bytes.npy --y yes.npy --family bernoulli"),
                    sampled("--x same.npy --y yes.npy --family bernoulli --seed 2"));
}

TEST_F(Glm, NamesAreThoseOfTheFile) {
  put("names", "age\nincome\n");
  const json result = sampled("--y yes.npy --family bernoulli --draws 20 --names names");
  EXPECT_EQ(result.at("parameters").at(1).at("name"), "age");
  EXPECT_EQ(result.at("parameters").at(2).at("name"), "income");
  put("few", "age\n");
  wrong_usage("sample glm --x x.npy --y yes.npy --family bernoulli --prior normal:1e-300",
              {"scale 1e-300", "between"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family bernoulli --names few", {"1 names", "2 columns"});
  put("comma", "a,b\nc\n");
  cannot("sample glm --x x.npy --y yes.npy --family bernoulli --names comma", {"line 1", "a,b"});
  put("empty", "");
  cannot("sample glm --x x.npy --y yes.npy --family bernoulli --names empty", {"--names empty is empty"});
  put("latin",
      "a\ngr\xf6\xdf"
      "e\n");
  cannot("sample glm --x x.npy --y yes.npy --family bernoulli --names latin",
         {"--names latin", "line 2", "UTF-8"});
  put("tab", "a\tb\nc\n");
  cannot("sample glm --x x.npy --y yes.npy --family bernoulli --names tab", {"line 1", "control character"});
  put("utf8", "größe\nb\n");
  EXPECT_EQ(sampled("--y yes.npy --family bernoulli --draws 20 --names utf8")["parameters"][1]["name"],
            "größe");
}

/// Readers of the CSV take dots for indices and choke on other signs; the table and summary show the names.
TEST_F(Glm, NamesArePlainInTheCsvAndWholeElsewhere) {
  put("names", "I(x^2)\nedu.12\n");
  const Outcome outcome = onward(
      "sample glm --x x.npy --y classes.npy --family categorical --draws 20 --seed 1 --quiet --names names "
      "--out run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\nI(x^2).3 "), HasSubstr("\nedu.12.3 ")));
  EXPECT_THAT(
      get(path("run/chain-1.csv")),
      AllOf(HasSubstr("\n# name of I_x_2 = I(x^2)\n# name of edu_12 = edu.12\n"),
            HasSubstr(",energy__,intercept.1,intercept.2,intercept.3,I_x_2.1,I_x_2.2,I_x_2.3,edu_12.1,")));
  EXPECT_EQ(json_file("run/run.json").at("names_in_csv"), (json{{"I_x_2", "I(x^2)"}, {"edu_12", "edu.12"}}));
  const json again = json::parse(onward("summary run --json --quiet").out);
  EXPECT_EQ(again.at("parameters").at(3).at("name"), "I(x^2).1");
  EXPECT_EQ(again.at("parameters").at(7).at("name"), "edu.12.2");
  const json first = json_file("run/summary.json");
  EXPECT_EQ(again["parameters"][3]["mean"], first["parameters"][1]["mean"]);
  EXPECT_EQ(again["parameters"][7]["mean"], first["parameters"][5]["mean"]);
}

TEST_F(Glm, TimeLimitAndInterruptKeepWhatThereIs) {
  const std::string line = "sample glm --x x.npy --y yes.npy --family bernoulli --draws 100000000 --seed 1 ";
  const Outcome limited = onward(line + "--max-seconds 0.2 --out limited");
  EXPECT_EQ(limited.code, 0) << limited.err;
  EXPECT_THAT(limited.err, HasSubstr("--max-seconds 0.2"));
  EXPECT_EQ(json_file("limited/run.json").at("status"), "stopped at the time limit");

  Started started(split(line + "--out run"), {.folder = path("")});
  wait_until([&] {
    return std::filesystem::exists(path("run/chain-4.csv")) &&
           get(path("run/chain-4.csv")).find("\n-") != std::string::npos;
  });
  started.send(SIGINT);
  const Outcome outcome = started.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_EQ(json_file("run/run.json").at("status"), "interrupted");
  EXPECT_EQ(onward("summary run").code, 0);
}

TEST_F(Glm, EvaluateGivesTheLogDensity) {
  const Outcome outcome = onward(
      "evaluate glm --x x.npy --y yes.npy --family bernoulli --at zeros --direction axis:1 --gradient "
      "--json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  // At 0 every outcome has probability 1/2, and rows are summed in float.
  EXPECT_NEAR(result.at("value").get<double>(), -std::log(2.0) * rows, 1e-4);
  EXPECT_NEAR(result.at("slope").get<double>(), result.at("gradient").at(1).get<double>(), 1e-4);
}

}  // namespace
}  // namespace onward::testing
