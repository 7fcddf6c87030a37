// The log likelihood of single observations at the draws of a run on file, for any kind of model.

#include "onward/record/stored_likelihood.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "io/scratch.hpp"
#include "onward/model/registry.hpp"
#include "onward/onward.hpp"
#include "onward/record/recording.hpp"

namespace onward::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<double> y{0.1, -0.4, 1.2, 0.7, 2.5};

double log_row(double value, double mu) {
  return -0.5 * (value - mu) * (value - mu) - 0.5 * std::log(2 * M_PI);
}

/// A normal with unknown mean, that knows its log likelihood of all observations only at once.
Model build_shift(const OptionValues&, const BuildFor&) {
  Model model{target(Parameters{}.real("other").real("mu"), [](auto other, auto mu) {
    auto f = -0.5 * other * other - 0.005 * mu * mu;
    for (const double value : y) f += -0.5 * (mu - value) * (mu - value);
    return f;
  })};
  model.log_likelihood = [] {
    return LogLikelihood{.shape = {.name = "y", .shape = {y.size()}},
                         .at = [](std::span<const double> parameters, std::span<double> out) {
                           for (std::size_t i = 0; i < y.size(); ++i) out[i] = log_row(y[i], parameters[1]);
                         }};
  };
  return model;
}

class StoredLikelihoodTest : public Scratch {
 protected:
  static void SetUpTestSuite() {
    model_registry().add({.name = "shift", .summary = "a mean", .build = build_shift});
  }
  Recorded sampled(const std::string& format) const {
    return record(build({"shift"}), {.sampler = "rwm", .draws = 300, .chains = 2, .seed = 1},
                  {.folder = path("run"), .format = format});
  }
};

TEST_F(StoredLikelihoodTest, IsThatOfTheDrawsInBothFormats) {
  for (const std::string format : {"csv", "netcdf"}) {
    SCOPED_TRACE(format);
    const Recorded recorded = sampled(format);
    const StoredLikelihood stored = read_stored_likelihood(path("run"));
    EXPECT_EQ(stored.kind, "shift");
    EXPECT_FALSE(stored.observed.has_value());  // the model has no arrays of data
    const PointwiseLogLikelihood& ours = stored.log_likelihood;
    ASSERT_EQ(ours.observations, 5u);
    ASSERT_EQ(ours.chains, 2u);
    ASSERT_EQ(ours.draws, 300u);
    const Chains mu = recorded.run.parameter(1);
    for (const std::size_t draw : {0U, 299U, 300U, 599U})
      for (std::size_t first = 0; first < 5; ++first) {
        std::vector<double> part(5 - first);
        ours.at(draw, first, part);
        for (std::size_t i = 0; i < part.size(); ++i)
          EXPECT_EQ(part[i], log_row(y[first + i], mu[draw / 300][draw % 300]));
      }
    // A block of one observation at a time comes to the same.
    EXPECT_EQ(loo(ours)->elpd.value, loo(ours, {.block_bytes = 1})->elpd.value);
    std::filesystem::remove_all(path("run"));
  }
}

TEST_F(StoredLikelihoodTest, RefusesFilesOfOtherParameters) {
  sampled("csv");
  for (const std::string file : {"run/chain-1.csv", "run/chain-2.csv"}) {
    std::string text = get(path(file));
    text.replace(text.find(",mu\n"), 4, ",nu\n");
    put(file, text);
  }
  EXPECT_THAT(error_of([&] { read_stored_likelihood(path("run")); }), HasSubstr("no parameter mu"));
}

}  // namespace
}  // namespace onward::testing
