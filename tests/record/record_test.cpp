// Runs that are recorded by the library alone, and runs in memory that are saved.

#include "onward/record/recording.hpp"

#include <gmock/gmock.h>

#include <span>

#include "io/scratch.hpp"
#include "onward/io/json.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/io/run_status.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/onward.hpp"
#include "onward/record/earlier.hpp"
#include "onward/record/stored_likelihood.hpp"
#include "src/record/run_file.hpp"

namespace onward::testing {
namespace {

using ::testing::HasSubstr;

const RunSettings quick{.sampler = "rwm", .warmup = 100, .draws = 30, .thin = 2, .chains = 2, .seed = 1};

AnyTarget normal() {
  return target(2, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1]); });
}

class RecordTest : public Scratch {
 protected:
  /// Column i of the CSV file of a chain, counted among the parameters.
  static std::vector<double> column(const std::filesystem::path& file, std::size_t i) {
    const StanCsv csv = read_stan_csv(file);
    return csv.column(csv.parameter_columns()[i]);
  }
};

TEST_F(RecordTest, AModelIsRecordedAsTheProgramDoesIt) {
  const Recorded recorded = record(build({"eight-schools"}), quick,
                                   {.folder = path("run"), .format = "csv,netcdf", .unconstrained = true});
  EXPECT_EQ(recorded.run.draws(), 30u);
  EXPECT_EQ(recorded.folder, path("run"));
  EXPECT_EQ(recorded.summary.at("status"), "complete");
  const auto json = read_run_json(path("run"));
  EXPECT_EQ(json.at("model").at("name"), "eight-schools");
  EXPECT_EQ(json.at("status"), "complete");
  EXPECT_EQ(json.at("format"), "csv,netcdf");
  for (std::size_t chain = 0; chain < 2; ++chain)
    EXPECT_EQ(column(path("run/chain-" + std::to_string(chain + 1) + ".csv"), 8),
              recorded.run.parameter(8)[chain]);
  EXPECT_EQ(NetcdfReader(path("run/draws.nc"), "unconstrained_posterior").draws(), 30u);
  EXPECT_TRUE(std::filesystem::exists(path("run/summary.json")));
  EXPECT_TRUE(std::filesystem::exists(path("run/checkpoint")));
  EXPECT_THAT(error_of([&] { record(build({"eight-schools"}), quick, {.folder = path("run")}); }),
              HasSubstr("run"));
}

TEST_F(RecordTest, WarmUpIsRecorded) {
  RunSettings settings = quick;
  settings.warmup = 1000;
  const Recorded recorded = record(build({"eight-schools"}), settings, {.folder = path("run")});
  const WarmUpRecord& first = recorded.run.chains[0].warmup;
  ASSERT_EQ(first.steps.size(), 100u);
  EXPECT_EQ(first.steps.front(), 10u);
  EXPECT_EQ(first.steps.back(), 1000u);
  EXPECT_EQ(first.step_size.back(), recorded.run.chains[0].step_size);  // what sampling goes on with
  for (const double acceptance : first.acceptance)
    EXPECT_TRUE(acceptance >= 0 && acceptance <= 1) << acceptance;
  const std::string text = get(path("run/warmup.csv"));
  EXPECT_THAT(text, ::testing::StartsWith("chain,steps,step_size,acceptance\n1,10,"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 2 * 100);
}

TEST_F(RecordTest, ARunGoesOn) {
  record(build({"eight-schools"}), quick, {.folder = path("run"), .format = "netcdf"});
  RunSettings longer{.draws = 80};  // the rest is what it was
  const Recording on{.folder = path("run"), .into = Recording::Into::resumed, .format = "netcdf"};
  const Recorded resumed = record(build({"eight-schools"}), longer, on);
  RunSettings all_at_once = quick;
  all_at_once.draws = 80;
  const onward::Run whole = sample(build({"eight-schools"}), all_at_once);
  for (std::size_t i = 0; i < whole.names.size(); ++i)
    EXPECT_EQ(resumed.run.parameter(i), whole.parameter(i)) << whole.names[i];
  Recording other = on;
  other.format = "csv";
  longer.draws = 90;
  EXPECT_THAT(error_of([&] { record(build({"eight-schools"}), longer, other); }),
              HasSubstr("format netcdf, not csv"));
}

TEST_F(RecordTest, ATargetOfTheUsersOwnIsAModel) {
  const Recorded recorded = record(Model(normal()), quick, {.folder = path("run"), .format = "netcdf"});
  EXPECT_EQ(NetcdfReader(path("run/draws.nc")).draws(), 30u);
  const auto without = record(Model(normal()), quick, {});
  EXPECT_EQ(without.run.parameter(0), recorded.run.parameter(0));
  EXPECT_TRUE(without.folder.empty());
  EXPECT_THAT(error_of([&] {
                record(Model(normal()), quick,
                       {.folder = path("other"), .format = "netcdf", .log_likelihood = true});
              }),
              HasSubstr("`log_likelihood`"));
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(RecordTest, ARunInMemoryIsSaved) {
  const onward::Run run = sample(normal(), quick);
  save(run, path("saved"), "my normal");
  EXPECT_EQ(column(path("saved/chain-2.csv"), 1), run.parameter(1)[1]);
  EXPECT_EQ(read_run_json(path("saved")).at("model").at("name"), "my normal");
  EXPECT_TRUE(read_run_status(path("saved"))->complete());
  EXPECT_TRUE(std::filesystem::exists(path("saved/summary.json")));
  EXPECT_THAT(error_of([&] { save(run, path("saved")); }), HasSubstr("saved"));
  save(run, path("saved"), "again", true);
  EXPECT_EQ(read_run_json(path("saved")).at("model").at("name"), "again");
  EXPECT_THAT(error_of([&] { ended_before_checkpoint(path("saved")); }), HasSubstr("no checkpoint"));
}

TEST_F(RecordTest, ARunSavesItselfInOneLineAndItsSettingsArePlain) {
  RunSettings settings = quick;
  settings.sampler = "pc-line-fmala";
  settings.thin = {};
  settings.warmup = 1000;
  const onward::Run run = sample(normal(), settings);
  run.save(path("saved"));
  for (const char* file : {"run.json", "chain-1.csv", "chain-2.csv", "summary.json", "warmup.csv"})
    EXPECT_TRUE(std::filesystem::exists(path("saved") / file)) << file;
  const std::uint64_t seed = run.settings.seed;
  const std::size_t thin = run.settings.thin, warmup = run.settings.warmup;
  EXPECT_EQ(seed, 1u);
  EXPECT_EQ(thin, run.thin());
  EXPECT_EQ(warmup, 1000u);
  EXPECT_TRUE(run.settings.metric.has_value());
  const double acceptance = run.settings.target_acceptance;
  EXPECT_GT(acceptance, 0);
  EXPECT_THROW((void)static_cast<std::uint64_t>(RunSettings{}.seed), std::bad_optional_access);
}

TEST_F(RecordTest, QuantitiesAndLogLikelihoodsOfATargetGoToFilesAndToLoo) {
  const std::vector<double> y{0.3, -0.7, 1.9, 0.1};
  const auto one = [y](std::size_t i, auto mu) { return normal_lpdf(y[i], mu, 1.0); };
  const auto known = target(Parameters{}.real("mu"),
                            [=](auto mu) {
                              auto f = normal_lpdf(mu, 0.0, 10.0);
                              for (std::size_t i = 0; i < y.size(); ++i) f += one(i, mu);
                              return f;
                            })
                         .generate(Quantities{}.vector("y_rep", 4),
                                   [](auto& random, auto mu, auto y_rep) {
                                     for (double& each : y_rep) each = random.normal(mu, 1.0);
                                   })
                         .log_likelihood("y", y.size(), one);
  RunSettings settings{.sampler = "nuts", .warmup = 200, .draws = 200, .chains = 2, .seed = 4};
  const Recorded recorded = record(onward::Model(known), settings,
                                   {.folder = path("run"), .format = "csv,netcdf", .log_likelihood = true});
  const onward::Run& run = recorded.run;
  ASSERT_EQ(run.names.size(), 5u);
  EXPECT_EQ(column(path("run/chain-2.csv"), 3), run.parameter(3)[1]) << "y_rep.3";
  NetcdfReader posterior(path("run/draws.nc")), likelihood(path("run/draws.nc"), "log_likelihood");
  ASSERT_EQ(posterior.variables().size(), 2u);
  EXPECT_EQ(posterior.variables()[1].name, "y_rep");
  EXPECT_EQ(posterior.variables()[1].shape, std::vector<std::size_t>{4});
  EXPECT_EQ(posterior.column(1, 2), run.parameter(3));
  ASSERT_EQ(likelihood.variables().size(), 1u);
  EXPECT_EQ(likelihood.variables()[0].name, "y");
  const auto third = likelihood.column(0, 2);
  for (std::size_t d = 0; d < 200; ++d)
    EXPECT_DOUBLE_EQ(third[1][d], normal_lpdf(y[2], run.parameter(0)[1][d], 1.0));

  const Loo result = loo(onward::Model(known), run);
  ASSERT_EQ(result.points.size(), 4u);
  std::vector<double> by_hand;
  for (const auto& chain : third) by_hand.insert(by_hand.end(), chain.begin(), chain.end());
  EXPECT_NEAR(result.points[2].elpd, loo_point(by_hand, 2).elpd, 1e-12);
  const StoredLikelihood stored = read_stored_likelihood(path("run"));
  const auto again = loo(stored.log_likelihood);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->elpd.value, result.elpd.value) << "a model that cannot be built again";
  EXPECT_THAT(error_of([&] { (void)loo(onward::Model(normal()), run); }), HasSubstr("log_likelihood()"));

  // A run that was cut and goes on has the same quantities.
  settings.draws = 100;
  record(onward::Model(known), settings, {.folder = path("cut")});
  EXPECT_THAT(error_of([&] { (void)read_stored_likelihood(path("cut")); }), HasSubstr("`log_likelihood`"));
  settings.draws = 200;
  const Recorded resumed =
      record(onward::Model(known), settings, {.folder = path("cut"), .into = Recording::Into::resumed});
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(resumed.run.chains[c].values, run.chains[c].values);
}

/// On a disk that is full no file can be made, but bytes of one that is there can be changed.
TEST_F(RecordTest, TheStatusCanBeChangedInPlace) {
  save(sample(normal(), quick), path("saved"));
  const RunFolder folder = RunFolder::open(path("saved"));
  const auto size = std::filesystem::file_size(folder.run_json());
  const auto before = read_run_json(path("saved"));
  EXPECT_TRUE(detail::overwrite_status(folder, "failed"));
  auto after = read_run_json(path("saved"));
  EXPECT_EQ(after.at("status"), "failed");
  EXPECT_EQ(std::filesystem::file_size(folder.run_json()), size);
  after["status"] = before.at("status");
  EXPECT_EQ(after, before);
  EXPECT_FALSE(detail::overwrite_status(folder, "interrupted"));  // longer than what is there
  EXPECT_EQ(read_run_json(path("saved")).at("status"), "failed");
  std::filesystem::remove(folder.run_json());
  EXPECT_FALSE(detail::overwrite_status(folder, "failed"));
}

TEST_F(RecordTest, ARunWithoutDrawsIsNotSaved) {
  Hooks hooks;
  hooks.keep_draws = false;
  const onward::Run run = sample(normal(), quick, hooks);
  EXPECT_THAT(error_of([&] { save(run, path("saved")); }), HasSubstr("`keep_draws`"));
  EXPECT_FALSE(std::filesystem::exists(path("saved")));
}

}  // namespace
}  // namespace onward::testing
