// What trajectories did goes with the draws: into CSV and netCDF files, through a resume, and back.

#include <gmock/gmock.h>

#include "io/scratch.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/io/stan_csv.hpp"
#include "onward/io/stored_draws.hpp"
#include "onward/onward.hpp"
#include "onward/record/recording.hpp"

namespace onward::testing {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

/// Without halvings, steps of this size diverge in the neck of a funnel; short trajectories are cut.
const RunSettings narrow{.sampler = "nuts",
                         .step_size = 0.7,
                         .sampler_options = {{"max_halvings", 0}, {"max_depth", 4}},
                         .warmup = 300,
                         .draws = 200,
                         .chains = 2,
                         .seed = 3};

Model funnel() { return build({"funnel", {{"dim", 4}}}); }

class Trajectories : public Scratch {
 protected:
  static void expect_in_files(const std::vector<std::filesystem::path>& files, const onward::Run& run) {
    const StoredDraws stored = read_stored_draws(files);
    const Chains depth = stored.statistic("tree_depth"), steps = stored.statistic("n_steps"),
                 diverging = stored.statistic("diverging"), energy = stored.statistic("energy");
    ASSERT_EQ(energy.size(), run.chains.size());
    for (std::size_t c = 0; c < run.chains.size(); ++c) {
      ASSERT_EQ(run.chains[c].followed.size(), energy[c].size());
      for (std::size_t d = 0; d < energy[c].size(); ++d) {
        const TrajectoryInfo& t = run.chains[c].followed[d];
        EXPECT_EQ(depth[c][d], t.depth);
        EXPECT_EQ(steps[c][d], t.leapfrogs);
        EXPECT_EQ(diverging[c][d], t.divergent ? 1 : 0);
        EXPECT_EQ(energy[c][d], t.energy);
      }
    }
    const auto counted = trajectories_in(stored), known = run.trajectories();
    ASSERT_EQ(counted.size(), known.size());
    for (std::size_t c = 0; c < known.size(); ++c) {
      EXPECT_EQ(counted[c].draws, known[c].draws);
      EXPECT_EQ(counted[c].divergent, known[c].divergent);
      EXPECT_EQ(counted[c].deepest, known[c].deepest);
      EXPECT_EQ(counted[c].leapfrogs, known[c].leapfrogs);
      EXPECT_NEAR(counted[c].energy_fraction, known[c].energy_fraction, 1e-9);
    }
  }
};

TEST_F(Trajectories, AreInBothKindsOfFiles) {
  const Recorded recorded = record(funnel(), narrow, {.folder = path("run"), .format = "csv,netcdf"});
  const auto counted = recorded.run.trajectories();
  ASSERT_EQ(counted.size(), 2u);
  EXPECT_GT(counted[0].divergent + counted[1].divergent, 0u);
  EXPECT_GT(counted[0].deepest, 0u);
  EXPECT_GT(counted[0].leapfrogs, counted[0].draws);
  expect_in_files({path("run/chain-1.csv"), path("run/chain-2.csv")}, recorded.run);
  expect_in_files({path("run/draws.nc")}, recorded.run);
  const auto& json = recorded.summary.at("trajectories");
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(json.at("divergent").at(c), counted[c].divergent);
    EXPECT_EQ(json.at("max_depth_reached").at(c), counted[c].deepest);
    EXPECT_EQ(json.at("e_bfmi").at(c), counted[c].energy_fraction);
  }
  EXPECT_EQ(recorded.summary.at("settings").at("max_depth"), 4);
}

TEST_F(Trajectories, GoOnWithARun) {
  RunSettings longer = narrow;
  longer.draws = 320;
  const Recorded whole = record(funnel(), longer, {.folder = path("whole"), .format = "csv,netcdf"});
  for (const char* format : {"csv", "netcdf", "csv,netcdf"}) {
    SCOPED_TRACE(format);
    const auto folder = path(std::string("cut-") + format);
    record(funnel(), narrow, {.folder = folder, .format = format});
    const Recorded resumed = record(funnel(), {.draws = 320},
                                    {.folder = folder, .into = Recording::Into::resumed, .format = format});
    for (std::size_t c = 0; c < 2; ++c) {
      const auto &a = resumed.run.chains[c].followed, &b = whole.run.chains[c].followed;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t d = 0; d < a.size(); ++d) {
        EXPECT_EQ(a[d].energy, b[d].energy) << d;
        EXPECT_EQ(a[d].depth, b[d].depth);
        EXPECT_EQ(a[d].divergent, b[d].divergent);
        EXPECT_EQ(a[d].leapfrogs, b[d].leapfrogs);
      }
    }
    EXPECT_EQ(resumed.run.trajectories(), whole.run.trajectories());
    expect_in_files(files_of_draws(folder), whole.run);
  }
}

TEST_F(Trajectories, AreSavedFromMemory) {
  const onward::Run run = sample(funnel(), narrow);
  save(run, path("saved"), "funnel");
  expect_in_files(files_of_draws(path("saved")), run);
}

TEST_F(Trajectories, AreNoneOfOtherSamplers) {
  RunSettings other = narrow;
  other.sampler = "mala";
  other.sampler_options = nlohmann::ordered_json::object();
  const Recorded recorded = record(funnel(), other, {.folder = path("run"), .format = "csv,netcdf"});
  EXPECT_THAT(recorded.run.trajectories(), IsEmpty());
  EXPECT_FALSE(recorded.summary.contains("trajectories"));
  for (const char* file : {"run/chain-1.csv", "run/draws.nc"})
    EXPECT_THAT(trajectories_in(read_stored_draws({path(file)})), IsEmpty()) << file;
  const StanCsv csv = read_stan_csv(path("run/chain-1.csv"));
  EXPECT_THAT(csv.column(csv.find_column("treedepth__").value()), Each(0));
}

}  // namespace
}  // namespace onward::testing
