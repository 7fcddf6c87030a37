// Tables 4 to 7 with a network of width 1 and made images.

#include "experiments/cnn.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "experiments/cifar_files.hpp"
#include "experiments/cnn_pretraining.hpp"
#include "experiments/cnn_report.hpp"
#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace onward::experiments {
namespace {

using onward::testing::write_small_cifar;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

template <class Act>
std::string refusal(const Act& act) {
  try {
    act();
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "nothing was refused";
}

class Cnn : public onward::testing::Scratch {
 protected:
  Cnn() {
    write_small_cifar(path("images"));
    settings.width = 1;
    settings.data = path("images").string();
    settings.images = 40;
    settings.held_out = 50;
    settings.chains = 2;
    settings.draws = 6;
    settings.predicted = 3;
    settings.grid = 2;
    settings.seeds = 2;
    settings.sizes = {20, 30};
    settings.timing_steps = 2;
    settings.threads = 1;
    settings.start = (path("trained") / "start.safetensors").string();
    training.width = 1;
    training.data = settings.data;
    training.images = 0;
    training.held_out = settings.held_out;
    training.threads = 1;
    training.sgd.epochs = 3;
    training.sgd.batch = 50;
    training.sgd.shift = 1;  // classes are told by where the rows are
    training.folder = path("trained").string();
    fs::create_directories(training.folder);
  }
  Pretraining train() {
    return *pretrain(
        training, [&](const Epoch&) {}, [](double) {}, stop);
  }
  CnnSettings settings;
  PretrainingSettings training;
  std::atomic<bool> stop{false};
};

TEST_F(Cnn, PretrainingLearnsAndIsFoundAgain) {
  const Pretraining epochs = train();
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_LT(epochs[2].loss, epochs[0].loss);
  EXPECT_FALSE(fs::exists(path("trained/training.safetensors")));
  const std::string weights = get(settings.start);
  const auto written = fs::last_write_time(settings.start);
  EXPECT_EQ(train()[0].seconds, epochs[0].seconds);
  EXPECT_EQ(fs::last_write_time(settings.start), written);
  // The same again on two threads, also if the weights were lost.
  fs::remove(settings.start);
  training.threads = 2;
  train();
  EXPECT_EQ(get(settings.start), weights);
  training.sgd.seed = 2;
  train();
  EXPECT_NE(get(settings.start), weights);
}

TEST_F(Cnn, PretrainingSaysWhatIsMissing) {
  training.images = 280;
  EXPECT_THAT(refusal([&] { check_pretraining(training); }), HasSubstr("280 images to train with and 50"));
  training.data = path("nowhere").string();
  EXPECT_THAT(refusal([&] { check_pretraining(training); }), HasSubstr("data_batch_1.bin"));
}

TEST_F(Cnn, ChainsThatHardlyMoveScoreAsTheStart) {
  train();
  const CnnData data = load_cnn(settings);
  EXPECT_EQ(data.train_count(), 300u);
  EXPECT_EQ(data.held_out.count(), 50u);
  const CnnStart start = cnn_start(settings, data);
  EXPECT_TRUE(std::isfinite(start.log_density));
  for (const char* sampler :
       {"rwm", "mala", "fmala", "line-fmala", "pc-fmala", "pc-line-fmala", "newton-line"}) {
    SCOPED_TRACE(sampler);
    // newton-line goes as far as it likes.
    const bool far = sampler == std::string("newton-line");
    const CnnChain chain = cnn_chain(settings, data, sampler, far ? std::nullopt : std::optional(1e-9), 1);
    EXPECT_TRUE(std::isfinite(chain.log_density));
    if (far) continue;
    EXPECT_NEAR(chain.test.nll, start.test.nll, 1e-4);
    EXPECT_NEAR(chain.held_out.nll, start.held_out.nll, 1e-4);
    EXPECT_NEAR(chain.log_density, start.log_density, 0.1);
    // The scale of pc-fmala's noise depends on the direction, in all dimensions at once: it stays where it
    // is.
    if (sampler == std::string("pc-fmala"))
      EXPECT_LT(chain.acceptance, 0.01);
    else
      EXPECT_GT(chain.acceptance, 0.9);
    EXPECT_LT(chain.rms_move, 1e-4);
  }
}

TEST_F(Cnn, ChainsDependOnTheSeedAndNotOnThreads) {
  train();
  const CnnData data = load_cnn(settings);
  const CnnChain one = cnn_chain(settings, data, "mala", 0.01, 1);
  EXPECT_GT(one.rms_move, 0.005);
  settings.threads = 3;
  const CnnChain three = cnn_chain(settings, data, "mala", 0.01, 1);
  EXPECT_EQ(one.test.nll, three.test.nll);
  EXPECT_EQ(one.log_density, three.log_density);
  EXPECT_NE(cnn_chain(settings, data, "mala", 0.01, 2).test.nll, one.test.nll);
}

TEST_F(Cnn, GridsAreEvenInLogAndTheBestTellsHeldOutImages) {
  settings.grid = 3;
  const auto grid = cnn_grid(settings, "mala");
  ASSERT_EQ(grid.size(), 3u);
  EXPECT_NEAR(*grid[1], std::sqrt(*grid[0] * *grid[2]), 1e-12);
  EXPECT_GT(*grid[2], *grid[0]);
  settings.step_sizes = {{"mala", 0.25}};
  EXPECT_EQ(cnn_grid(settings, "mala"), std::vector<std::optional<double>>{0.25});
  EXPECT_EQ(cnn_grid(settings, "pc-fmala").size(), 1u);
  EXPECT_EQ(cnn_grid(settings, "newton-line"), std::vector<std::optional<double>>{std::nullopt});

  std::vector<CnnChain> chains(3);
  const double held_out[] = {NAN, 0.5, 0.4}, test[] = {0.1, 0.2, 0.3};
  for (std::size_t i = 0; i < 3; ++i) {
    chains[i].held_out.nll = held_out[i];
    chains[i].test.nll = test[i];
  }
  EXPECT_EQ(best_of(chains).test.nll, 0.3);
}

TEST_F(Cnn, WholeBatchesThatDoNotFitAreRefusedBeforeTheyStart) {
  settings.quality = false;
  settings.memory_limit = 2.5e6;
  const CnnData data = load_cnn(settings);
  const auto row = [&](net::GradientForm form) { return cnn_timing(settings, data, "mala", form, 300); };
  const CnnTimingRow whole = row(net::GradientForm::whole), pieces = row(net::GradientForm::pieces);
  EXPECT_TRUE(whole.refused);
  EXPECT_GT(whole.needed_bytes, settings.memory_limit);
  EXPECT_EQ(whole.steps, 0u);
  EXPECT_FALSE(pieces.refused);
  EXPECT_LE(pieces.needed_bytes, settings.memory_limit);
  EXPECT_GT(pieces.seconds_per_step, 0);
  EXPECT_EQ(pieces.steps, 2u);

  settings.memory_limit = 1e5;
  const std::string problem = refusal([&] { load_cnn(settings); });
  EXPECT_THAT(problem, HasSubstr("0.1 MB is too little"));
  EXPECT_THAT(problem, HasSubstr("one image"));
}

TEST_F(Cnn, TablesHaveEveryRowAndKeepThem) {
  train();
  settings.samplers = {"line-fmala", "mala"};
  settings.folder = path("table").string();
  fs::create_directories(settings.folder);
  const CnnData data = load_cnn(settings);
  double last = 0;
  const auto table = cnn_table(
      settings, data,
      [&](double share) {
        EXPECT_GE(share, last);
        last = share;
      },
      stop);
  ASSERT_TRUE(table);
  EXPECT_LE(last, 1);
  ASSERT_EQ(table->quality.size(), 2u);
  for (const auto& row : table->quality) {
    EXPECT_EQ(row.grid.size(), 2u);
    ASSERT_EQ(row.chains.size(), 2u);
    EXPECT_EQ(row.chains[0].step_size, row.chains[1].step_size);
    EXPECT_NE(row.chains[0].seed, row.chains[1].seed);
  }
  EXPECT_EQ(table->timing.size(), 8u);  // mala has three forms

  const auto json = cnn_json(*table);
  EXPECT_EQ(json.at("quality")[1].at("published").at("accuracy"), 0.7979);
  EXPECT_EQ(json.at("start").at("test").at("nll"), table->start->test.nll);
  EXPECT_EQ(json.at("timing").size(), 8u);
  const std::string text = cnn_text(*table);
  for (const char* word : {"Tables 4 and 7", "Tables 5 and 6", "SGD start", "mala, checkpoint",
                           "not the paper's network", "(0.7942)"})
    EXPECT_THAT(text, HasSubstr(word));
  EXPECT_THAT(cnn_quality_csv(*table), HasSubstr("\nline-fmala,"));
  EXPECT_THAT(cnn_timing_csv(*table), HasSubstr("\nmala,whole,30,"));
  cnn_figure(*table, settings.folder);
  EXPECT_TRUE(fs::exists(path("table/step-size.svg")));

  // All rows are found: nothing is timed again.
  const auto again = cnn_table(settings, data, {}, stop);
  ASSERT_TRUE(again);
  EXPECT_EQ(cnn_text(*again), text);
  // Rows of other settings, or from other weights, are not replaced.
  CnnSettings others = settings;
  ++others.draws;
  EXPECT_THAT(refusal([&] { cnn_table(others, data, {}, stop); }), HasSubstr("was made with draws"));
  training.sgd.seed = 9;
  train();
  EXPECT_THAT(refusal([&] { cnn_table(settings, data, {}, stop); }), HasSubstr("was made with weights"));
}

TEST_F(Cnn, SettingsThatMakeNoSenseAreNamed) {
  train();
  const auto refused = [&](auto change, const char* piece) {
    CnnSettings changed = settings;
    change(changed);
    EXPECT_THAT(refusal([&] { load_cnn(changed); }), HasSubstr(piece));
  };
  refused([](auto& s) { s.samplers = {"malla"}; }, "mala");
  refused([](auto& s) { s.samplers = {"mala", "rwm", "mala"}; }, "sampler mala is named twice");
  refused([](auto& s) { s.sizes = {20, 20}; }, "size 20 is named twice");
  refused([](auto& s) { s.images = 0; }, "images 0");
  refused([](auto& s) { s.images = 251; }, "images 251 is too many: there are 250");
  refused([](auto& s) { s.held_out = 300; }, "300");
  refused([](auto& s) { s.sizes = {301}; }, "sizes 301 is too many: there are 300");
  refused([](auto& s) { s.draws = 0; }, "draws 0");
  refused([](auto& s) { s.step_sizes = {{"mala", -1}}; }, "step size of mala -1");
  refused([](auto& s) { s.step_sizes = {{"newton-line", 1}}; }, "newton-line has no step size");
  refused([](auto& s) { s.width = 2; }, "Give weights of the same network");
  refused([](auto& s) { s.start = "nowhere.safetensors"; }, "nowhere.safetensors");
}

TEST(CnnPublished, Figures) {
  EXPECT_EQ(published_cnn_quality("fmala")->ece, 0.025);
  EXPECT_FALSE(published_cnn_quality("pc-fmala"));
  EXPECT_EQ(published_cnn_time("pc-line-fmala", 50'000)->seconds, 2.0982);
  EXPECT_EQ(published_cnn_time("mala", 30'000)->seconds, 0);
  EXPECT_FALSE(published_cnn_time("mala", 500));
}

}  // namespace
}  // namespace onward::experiments
