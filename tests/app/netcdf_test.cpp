// `onward sample ... --format netcdf`: all groups of ArviZ's layout, as xarray reads them.

#include <cmath>
#include <set>
#include <span>

#include "io/by_xarray.hpp"
#include "onward/io/npy.hpp"
#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::size_t rows = 50;

class NetcdfRun : public Program {
 protected:
  std::vector<double> x, y, offset;

  void SetUp() override {
    const Stream stream(4, 0);
    x.resize(2 * rows);
    y.resize(rows);
    offset.resize(rows);
    stream.normals(0, Purpose::noise, x);
    stream.normals(1, Purpose::noise, y);
    stream.normals(2, Purpose::noise, offset);
    // Floats, which are what a regression computes with.
    for (auto* numbers : {&x, &y, &offset})
      for (double& number : *numbers) number = static_cast<float>(number);
    std::vector<double> classes(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      y[i] = static_cast<float>(1 + x[2 * i] + 0.5 * y[i]);
      classes[i] = static_cast<double>(i % 3);
    }
    save("x.npy", x, {rows, 2});
    save("y.npy", y, {rows});
    save("offset.npy", offset, {rows});
    save("classes.npy", classes, {rows});
    put("names.txt", "age\nI(age^2)\n");
  }

  void save(const std::string& name, const std::vector<double>& values,
            std::vector<std::size_t> shape) const {
    const auto bytes = std::as_bytes(std::span(values));
    write_npy(path(name), {{std::move(shape), "<f8"}, {bytes.begin(), bytes.end()}});
  }

  json sampled(const std::string& words, const std::string& folder = "run") const {
    const Outcome outcome = onward("sample " + words + " --format netcdf --seed 1 --quiet --out " + folder);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return by_xarray(path(folder + "/draws.nc"));
  }

  static std::vector<double> values(const json& file, const std::string& group, const std::string& variable) {
    return file.at(group).at("variables").at(variable).at("values").get<std::vector<double>>();
  }
};

const std::string regression =
    "glm --x x.npy --y y.npy --family gaussian --offset offset.npy --names names.txt --chains 2 --draws 20";

TEST_F(NetcdfRun, ARegressionHasNamedCoordinatesAndItsData) {
  const json file = sampled(regression);
  const json posterior = file.at("posterior");
  EXPECT_EQ(posterior.at("variables").at("beta").at("dims"), (json{"chain", "draw", "predictor"}));
  EXPECT_EQ(posterior.at("coordinates").at("predictor"), (json{"age", "I(age^2)"}));
  EXPECT_EQ(posterior.at("variables").at("intercept").at("dims"), (json{"chain", "draw"}));
  EXPECT_TRUE(posterior.at("variables").contains("sigma"));
  for (const char* name : {"created_at", "creation_library", "creation_library_version", "inference_library",
                           "inference_library_version", "model", "sampler", "seed"})
    EXPECT_TRUE(posterior.at("attributes").contains(name)) << name;

  EXPECT_EQ(values(file, "observed_data", "y"), y);
  EXPECT_EQ(values(file, "constant_data", "x"), x);
  EXPECT_EQ(values(file, "constant_data", "offset"), offset);
  const json constants = file.at("constant_data");
  EXPECT_EQ(constants.at("variables").at("x").at("dims"), (json{"observation", "predictor"}));
  EXPECT_EQ(constants.at("coordinates").at("predictor"), (json{"age", "I(age^2)"}));
  EXPECT_FALSE(file.contains("log_likelihood"));
  EXPECT_FALSE(file.contains("unconstrained_posterior"));

  const json statistics = file.at("sample_stats").at("variables");
  for (const char* name : {"lp", "acceptance_rate", "step_size"}) EXPECT_TRUE(statistics.contains(name));
  for (const double steps : values(file, "sample_stats", "n_steps"))
    EXPECT_EQ(steps, 4);  // a sweep, of which sigma is no axis
  for (const double evaluations : values(file, "sample_stats", "evaluations")) EXPECT_GE(evaluations, 1);
  EXPECT_EQ(statistics.at("n_steps").at("kind"), "integer");
  EXPECT_FALSE(sampled(regression + " --no-data", "without").contains("constant_data"));
}

TEST_F(NetcdfRun, TheTableHasTheSameNamesFromEveryFile) {
  const auto names = [&](const std::string& words) {
    std::set<std::string> found;
    const Outcome outcome = onward(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const json told = json::parse(outcome.out);
    for (const auto& parameter : told.at("parameters")) found.insert(parameter.at("name"));
    return found;
  };
  for (const std::string& model :
       {regression, std::string("eight-schools --sampler rwm --draws 50"),
        std::string("glm --x x.npy --y classes.npy --family categorical --draws 20"),
        std::string("glm --x x.npy --y classes.npy --family categorical --draws 20 "
                    "--names names.txt")}) {
    SCOPED_TRACE(model);
    const auto shown = names("sample " + model + " --format csv,netcdf --json --quiet --seed 1 --out run");
    EXPECT_EQ(names("summary run/draws.nc --json --quiet"), shown);
    EXPECT_EQ(names("summary run --json --quiet"), shown);
    std::filesystem::remove_all(path("run"));
  }
}

TEST_F(NetcdfRun, TheLogLikelihoodIsThatOfEachObservation) {
  // By the regression's own sampler, and by a kernel.
  for (const std::string sampler : {"", " --sampler mala --warmup 200"}) {
    const json file = sampled(regression + sampler + " --log-likelihood", sampler.empty() ? "axes" : "mala");
    EXPECT_EQ(file.at("log_likelihood").at("variables").at("y").at("dims"),
              (json{"chain", "draw", "observation"}));
    const auto found = values(file, "log_likelihood", "y");
    const auto intercept = values(file, "posterior", "intercept"), beta = values(file, "posterior", "beta"),
               sigma = values(file, "posterior", "sigma");
    ASSERT_EQ(found.size(), 40 * rows);
    for (std::size_t draw = 0; draw < 40; ++draw)
      for (std::size_t i = 0; i < rows; ++i) {
        const double eta =
            offset[i] + intercept[draw] + beta[2 * draw] * x[2 * i] + beta[2 * draw + 1] * x[2 * i + 1];
        const double z = (y[i] - eta) / sigma[draw];
        const double exact = -0.5 * z * z - std::log(sigma[draw]) - 0.5 * std::log(2 * M_PI);
        ASSERT_NEAR(found[draw * rows + i], exact, 1e-5 * (1 + std::abs(exact))) << draw << ", " << i;
      }
  }
}

TEST_F(NetcdfRun, UnconstrainedDrawsAreThoseThatWereSampled) {
  const json schools = sampled("eight-schools --sampler rwm --draws 30 --unconstrained", "schools");
  const auto tau = values(schools, "posterior", "tau"),
             free = values(schools, "unconstrained_posterior", "tau");
  ASSERT_EQ(free.size(), tau.size());
  for (std::size_t k = 0; k < tau.size(); ++k) EXPECT_NEAR(free[k], std::log(tau[k]), 1e-12);
  // The own sampler of regressions has a position too. Its intercept is at the means of the columns.
  const json file = sampled(regression + " --unconstrained");
  const auto sigma = values(file, "posterior", "sigma"),
             log_sigma = values(file, "unconstrained_posterior", "sigma");
  for (std::size_t k = 0; k < sigma.size(); ++k) EXPECT_NEAR(log_sigma[k], std::log(sigma[k]), 1e-12);
  EXPECT_EQ(values(file, "unconstrained_posterior", "beta"), values(file, "posterior", "beta"));
}

TEST_F(NetcdfRun, ClassesAreADimension) {
  const json file = sampled(
      "glm --x x.npy --y classes.npy --family categorical --chains 1 --draws 5 "
      "--log-likelihood --single-precision");
  EXPECT_EQ(file.at("posterior").at("variables").at("beta").at("dims"),
            (json{"chain", "draw", "predictor", "class"}));
  EXPECT_EQ(file.at("posterior").at("coordinates").at("class"), (json{0, 1, 2}));
  EXPECT_EQ(file.at("posterior").at("variables").at("beta").at("bytes"), 4);
  EXPECT_EQ(file.at("log_likelihood").at("variables").at("y").at("bytes"), 4);
  EXPECT_EQ(file.at("constant_data").at("variables").at("x").at("bytes"), 8);
}

TEST_F(NetcdfRun, RefusesWhatCannotBe) {
  wrong_usage("sample eight-schools --format netcdf --log-likelihood --out run",
              {"--log-likelihood", "eight-schools"});
  wrong_usage("sample " + regression + " --log-likelihood --out run",
              {"--log-likelihood", "--format netcdf"});
  wrong_usage("sample eight-schools --unconstrained --out run", {"--unconstrained", "--format netcdf"});
  wrong_usage("sample eight-schools --format netcdf --keep moments --unconstrained --out run",
              {"--unconstrained", "--keep draws"});
}

TEST_F(NetcdfRun, ChoicesAreRememberedByFromAndResume) {
  const std::string all = " --log-likelihood --unconstrained --no-data --single-precision";
  const json whole = sampled(regression + all + " --draws 60", "whole");
  sampled(regression + all, "run");
  ASSERT_EQ(onward("sample --resume --draws 60 --quiet --out run").code, 0);
  ASSERT_EQ(onward("sample --from whole --quiet --out again").code, 0);
  for (const std::string folder : {"run", "again"}) {
    const json other = by_xarray(path(folder + "/draws.nc"));
    for (const auto& [group, contents] : whole.items())
      EXPECT_EQ(other.at(group).at("variables"), contents.at("variables")) << folder << ": " << group;
    EXPECT_EQ(other.size(), whole.size());
    // Draws are kept as floats alone, so that is what every run sums up.
    EXPECT_EQ(json_file(folder + "/summary.json").at("parameters"),
              json_file("whole/summary.json").at("parameters"));
  }
  sampled(regression, "plain");
  const Outcome outcome = onward("sample --resume --format csv --draws 90 --out plain");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the setting format netcdf, not csv"));
}

}  // namespace
}  // namespace onward::testing
