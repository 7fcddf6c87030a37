// The autoregression: its density term by term, its posterior against draws by other means where these are at
// hand, and what is wrong with a series.

#include "models/autoregression.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "onward/run/run.hpp"

namespace onward::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Autoregression : public Scratch {};

TEST_F(Autoregression, HasTheDensityOfItsFormula) {
  put("series.json", "[1.0, 0.5, 0.75, -0.25]");
  Model model = build({"autoregression", {{"series", path("series.json").string()}, {"lags", 2}}});
  EXPECT_THAT(model.names, ElementsAre("alpha", "beta.1", "beta.2", "sigma"));
  // alpha = 0.1, beta = (0.5, -0.2), sigma = 2: the parameter that is sampled is log sigma.
  const std::vector<double> at{0.1, 0.5, -0.2, std::log(2.0)};
  const auto normal = [](double y, double mean, double sd) {
    return -0.5 * std::pow((y - mean) / sd, 2) - std::log(sd);
  };
  const auto density = [&](double alpha) {
    return normal(alpha, 0, 10) + normal(0.75, alpha + 0.5 * 0.5 - 0.2 * 1.0, 2) +
           normal(-0.25, alpha + 0.5 * 0.75 - 0.2 * 0.5, 2);
  };
  const std::vector<double> elsewhere{0.6, 0.5, -0.2, std::log(2.0)};
  EXPECT_NEAR(model.target.value(elsewhere) - model.target.value(at), density(0.6) - density(0.1), 1e-12);
}

TEST_F(Autoregression, RefusesASeriesThatIsTooShort) {
  put("series.json", "[1.0, 0.5]");
  EXPECT_THAT(error_of([&] {
                build({"autoregression", {{"series", path("series.json").string()}, {"lags", 2}}});
              }),
              AllOf(HasSubstr("series.json has 2 values"), HasSubstr("`lags`")));
}

/// Reference draws of the posterior "arK" of posteriordb, if they are beside the project.
TEST_F(Autoregression, AgreesWithReferenceDraws) {
  const std::filesystem::path folder = std::filesystem::path(ONWARD_TEST_DATA) / "../../shared/posteriordb";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "posteriordb's reference is not there";
  const auto read = [&](const char* file) {
    std::ifstream in(folder / file);
    return nlohmann::json::parse(in);
  };
  const auto data = read("arK-arK.data.json"), reference = read("arK-arK.reference.json").at("reference");
  put("series.json", data.at("y").dump());
  Model model = build(
      {"autoregression", {{"series", path("series.json").string()}, {"lags", data.at("K").get<int>()}}});
  const onward::Run run = sample(std::move(model), {.sampler = "newton-line", .draws = 2000, .seed = 3});
  for (const auto& parameter : run.summary()) {
    std::string name = parameter.name;
    if (const auto dot = name.find('.'); dot != std::string::npos)
      name = name.substr(0, dot) + "[" + name.substr(dot + 1) + "]";
    const double mean = reference.at(name).at("mean"), sd = reference.at(name).at("sd");
    EXPECT_NEAR(parameter.mean, mean, 0.1 * sd) << name;
    EXPECT_NEAR(parameter.sd, sd, 0.1 * sd) << name;
  }
}

}  // namespace
}  // namespace onward::testing
