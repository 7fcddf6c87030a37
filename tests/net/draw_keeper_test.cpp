// What is kept of a run of a network.

#include "onward/net/draw_keeper.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "io/scratch.hpp"
#include "onward/io/npy.hpp"
#include "onward/net/weights.hpp"

namespace onward::net {
namespace {

using ::testing::ElementsAre;

class Keeper : public onward::testing::Scratch {
 protected:
  const Layout layout{mlp(1, {4}, 1, ActivationKind::tanh)};
  const Data data{Inputs::values({1, 1, 1}, {-1, 0, 1}), Answers::values(1, {0.5f, 0, -0.5f})};
  const Posterior posterior{std::make_shared<Network>(layout), data, {.known_sigma = 0.3}};
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
  DrawKeeper keeper(posterior, test, std::nullopt, 2, {.folder = &*folder, .draws = true});
  Hooks hooks;
  hooks.listener = &keeper;
  const onward::Run run = sample(posterior, settings(), hooks);  // parameters are the names here
  write_predictions(*folder, keeper.predictive(), 1);

  Posterior direct = posterior;
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
  struct Count : DrawListener {
    std::size_t draws = 0, ends = 0, metric_entries = 0;
    void warmed_up(std::size_t, double, const Metric& metric) override {
      metric_entries += metric.variances().size();
    }
    void drawn(std::size_t, const Draw&) override { ++draws; }
    void finished(std::size_t) override { ++ends; }
  } next;
  RunSettings s = settings();
  s.threads = 1;
  s.metric = MetricKind::diag;
  s.warmup = 17 * 100;
  for (bool with_metric : {false, true}) {
    next = {};
    DrawKeeper keeper(posterior, test, data.answers.first(2), 2, {.next = &next, .with_metric = with_metric});
    Hooks hooks;
    hooks.listener = &keeper;
    sample(posterior, s, hooks);
    EXPECT_EQ(next.draws, 40u);
    EXPECT_EQ(next.ends, 2u);
    EXPECT_EQ(next.metric_entries > 0, with_metric);
    EXPECT_EQ(keeper.predictive().draws(), 40u);
    EXPECT_TRUE(std::isfinite(keeper.predictive().scores().nll));
  }
}

TEST_F(Keeper, AChainWithoutDrawsLeavesNoWeights) {
  std::optional<RunFolder> folder = RunFolder::create(path("run"));
  DrawKeeper keeper(posterior, test, std::nullopt, 1, {.folder = &*folder});
  keeper.finished(0);
  folder.reset();  // with its lock
  EXPECT_TRUE(std::filesystem::is_empty(path("run")));
  EXPECT_EQ(keeper.predictive().draws(), 0u);
}

}  // namespace
}  // namespace onward::net
