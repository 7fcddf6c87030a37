// What is kept of a run of a network.

#include "onward/net/prediction_sink.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "io/scratch.hpp"
#include "onward/io/npy.hpp"
#include "onward/io/npy_sink.hpp"
#include "onward/net/weights.hpp"

namespace onward::net {
namespace {

using ::testing::ElementsAre;

class Keeper : public onward::testing::Scratch {
 protected:
  const Layout layout{mlp(1, {4}, 1, ActivationKind::tanh)};
  const Data data{Inputs::values({1, 1, 1}, {-1, 0, 1}), Answers::values(1, {0.5f, 0, -0.5f})};
  const NetworkPosterior posterior{std::make_shared<Network>(layout), data, {.known_sigma = 0.3}};
  const Inputs test = Inputs::values({1, 1, 1}, {0.25f, 2});

  RunSettings settings() const {
    RunSettings s;
    s.sampler = "pc-line-fmala";
    s.warmup = 100;
    s.draws = 20;
    s.thin = 3;
    s.chains = 2;
    s.seed = 1;
    return s;
  }
};

TEST_F(Keeper, FilesHoldTheDrawsAndWhatTheyPredict) {
  std::optional<RunFolder> folder = RunFolder::create(path("run"));
  PredictionSink predictions_of(posterior, test, std::nullopt, 2, &*folder);
  NpySink arrays(*folder, posterior.dimension(), 2);
  Hooks hooks;
  hooks.sinks = {&predictions_of, &arrays};
  const onward::Run run = sample(posterior, settings(), hooks);  // parameters are the names here
  write_predictions(*folder, predictions_of.predictive(), 1);

  NetworkPosterior direct = posterior;
  std::vector<double> mean(2);
  for (std::size_t chain = 0; chain < 2; ++chain) {
    const NpyArray draws = read_npy(path("run") / ("chain-" + std::to_string(chain + 1) + ".npy"));
    ASSERT_THAT(draws.shape, ElementsAre(20, layout.parameter_count()));
    const auto values = draws.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], static_cast<float>(run.chains[chain].values[i]));
    const auto last =
        read_weights(path("run") / ("chain-" + std::to_string(chain + 1) + ".safetensors"), layout)
            .parameters;
    EXPECT_EQ(static_cast<float>(last[2]), values[19 * layout.parameter_count() + 2]);
    for (std::size_t k = 0; k < 20; ++k) {
      const std::span draw(run.chains[chain].values.data() + k * layout.parameter_count(),
                           layout.parameter_count());
      std::vector<float> f(2);
      direct.predict(draw, test, f);
      for (std::size_t i = 0; i < 2; ++i) mean[i] += static_cast<double>(f[i]) / 40;
    }
  }
  const NpyArray predictions = read_npy(path("run/predictions.npy"));
  ASSERT_THAT(predictions.shape, ElementsAre(2, 1));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(predictions.as<double>()[i], mean[i], 1e-9);
  const NpyArray sd = read_npy(path("run/predictions-sd.npy"));
  EXPECT_GT(sd.as<double>()[1], 0);
  // A run that replaces this one clears them away with the rest.
  folder.reset();
  folder.emplace(RunFolder::create(path("run"), true)).replace();
  folder.reset();
  EXPECT_TRUE(std::filesystem::is_empty(path("run")));
}

TEST_F(Keeper, WithoutAFolderOnlyPredictionsAreKept) {
  PredictionSink sink(posterior, test, data.answers.first(2), 2);
  Hooks hooks;
  hooks.sinks = {&sink};
  sample(posterior, settings(), hooks);
  EXPECT_EQ(sink.predictive().draws(), 40u);
  EXPECT_TRUE(std::isfinite(sink.predictive().scores().nll));
}

TEST_F(Keeper, WhatWasSummedUpGoesIntoAnArchiveAndBack) {
  PredictionSink sink(posterior, test, data.answers.first(2), 2),
      again(posterior, test, data.answers.first(2), 2);
  Hooks hooks;
  hooks.sinks = {&sink};
  sample(posterior, settings(), hooks);
  for (std::size_t chain = 0; chain < 2; ++chain) {
    Archive saved;
    sink.transfer(chain, saved);
    const std::string bytes = std::move(saved).take();
    Archive loaded(bytes);
    again.transfer(chain, loaded);
    loaded.finish();
  }
  EXPECT_EQ(again.predictive().mean(), sink.predictive().mean());
  EXPECT_EQ(again.predictive().sd(), sink.predictive().sd());
  EXPECT_EQ(again.predictive().scores().nll, sink.predictive().scores().nll);
}

TEST_F(Keeper, AChainWithoutDrawsLeavesNoWeights) {
  {
    const RunFolder folder = RunFolder::create(path("run"));
    PredictionSink keeper(posterior, test, std::nullopt, 1, &folder);
    keeper.finished(0);
    EXPECT_EQ(keeper.predictive().draws(), 0u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(path("run")));
}

}  // namespace
}  // namespace onward::net
