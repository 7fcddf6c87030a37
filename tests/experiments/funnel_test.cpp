// The funnel table: the same for any number of threads, any share of a register and after a kill; its figures
// against runs of the ordinary program's kernels; wrong settings.

#include "experiments/funnel.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "experiments/funnel_report.hpp"
#include "io/scratch.hpp"
#include "models/funnel.hpp"
#include "onward/diagnostics/compare.hpp"
#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward::experiments {
namespace {

FunnelSettings small() {
  FunnelSettings s;
  s.dims = {3};
  s.step_sizes = 3;
  s.seeds = 3;
  s.chains = 3;
  s.steps = 200;
  s.equal = {Budget::evaluations, Budget::time};
  s.threads = 1;
  return s;
}

/// Every figure of a table that does not come from the clock, to the last bit.
std::string bits(const FunnelTable& table) {
  auto json = funnel_json(table);
  json.erase("seconds");
  json["equal"].erase("time");
  for (auto* rows : {&json["table"], &json["equal"]["evaluations"]})
    for (auto& row : *rows) {
      row.erase("steps_per_second");
      row.erase("random_share");
    }
  return json.dump();
}

TEST(Funnel, SameTableForAnyThreadsAndLanes) {
  const std::string reference = bits(*funnel_table(small()));
  for (std::size_t threads : {1, 2, 3})
    for (std::size_t lanes : {0, 1, 4, 8}) {
      if (lanes > simd::lanes_v<simd::Batch<double>>) continue;
      FunnelSettings s = small();
      s.threads = threads;
      s.lanes = lanes;
      EXPECT_EQ(bits(*funnel_table(s)), reference) << threads << " threads, " << lanes << " lanes";
    }
  FunnelSettings other = small();
  other.seed = 2;
  EXPECT_NE(bits(*funnel_table(other)), reference);
}

TEST(Funnel, FiguresAreThoseOfChainsAlone) {
  FunnelSettings s = small();
  s.samplers = {"pc-line-fmala", "rwm"};
  const auto table = funnel_table(s);
  for (const auto& row : table->rows)
    for (const auto& cell : row.cells)
      for (std::size_t seed = 0; seed < s.seeds; ++seed) {
        double sum = 0, squares = 0;
        for (std::size_t chain = 0; chain < s.chains; ++chain) {
          AnyTarget model(target(4, models::FunnelDensity{}));
          const Stream stream(s.seed, static_cast<std::uint32_t>(seed * s.chains + chain));
          State state;
          state.position.resize(4);
          stream.normals(0, Purpose::start, state.position);
          for (double& x : state.position) x *= 0.1;
          state.value = model.value(state.position);
          Workspace workspace(4);
          const Kernel kernel = make_kernel(
              {.sampler = row.sampler, .step_size = cell.step_size, .options = {{"curvature_floor", 0}}});
          for (std::uint64_t number = 1; number <= s.steps; ++number) {
            step(kernel, state, model, Metric{}, StepRandom(stream, number), workspace);
            sum += state.position[0];
            squares += state.position[0] * state.position[0];
          }
        }
        const double n = 600, mean = sum / n, sd = std::sqrt((squares - n * mean * mean) / (n - 1));
        EXPECT_NEAR(cell.kl[seed], kl_normal(0, 3, mean, sd), 1e-9 * (1 + cell.kl[seed])) << row.sampler;
      }
}

TEST(Funnel, GoesOnAfterAKill) {
  const auto folder = std::filesystem::temp_directory_path() / "onward-funnel-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  FunnelSettings s = small();
  const std::string reference = bits(*funnel_table(s));
  s.checkpoint = (folder / "checkpoint").string();

  std::atomic<bool> stop{false};
  const auto cut = funnel_table(
      s, [&](std::size_t done, std::size_t) { stop = done >= 4; }, &stop);
  EXPECT_FALSE(cut);
  {  // a line that was being written when the machine stopped
    std::ofstream out(s.checkpoint, std::ios::app);
    out << "\n{\"key\": \"3/rw";
  }
  const auto whole = funnel_table(s);
  ASSERT_TRUE(whole);
  EXPECT_EQ(bits(*whole), reference);

  s.steps = 300;
  EXPECT_THROW(funnel_table(s), Error) << "a checkpoint of other settings must not be used";
  std::filesystem::remove_all(folder);
}

TEST(Funnel, ADamagedCheckpointIsRefused) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("onward-funnel-{}", ::getpid());
  std::filesystem::create_directories(folder);
  FunnelSettings s = small();
  s.samplers = {"rwm"};
  s.equal = {};
  s.checkpoint = (folder / "checkpoint").string();
  const std::string reference = bits(*funnel_table(s));
  std::ifstream in(s.checkpoint);
  std::string first, line;
  std::getline(in, first);
  while (line.empty()) std::getline(in, line);
  const auto piece = nlohmann::json::parse(line);
  const auto with = [&](const std::string& text) {
    std::ofstream(s.checkpoint) << first << "\n" << text << "\n";
    return bits(*funnel_table(s));
  };
  const auto changed = [&](const char* key, const nlohmann::json& value) {
    auto json = piece;
    if (value.is_discarded())
      json.erase(key);
    else
      json[key] = value;
    return json.dump();
  };
  const nlohmann::json gone(nlohmann::json::value_t::discarded);
  EXPECT_EQ(with(line), reference);
  // What is no piece at all is passed over, as a line that was cut short is.
  for (const std::string& text : {std::string("[]"), std::string("3"), std::string(100'000, '[')})
    EXPECT_EQ(with(text), reference);
  for (const std::string& text :
       {std::string("{}"), changed("sums", {{1, 2, 3}}), changed("sums", nlohmann::json::array()),
        changed("sums", {{1, 2}}), changed("sums", 3), changed("sums", gone), changed("seconds", gone),
        changed("seconds", -1), changed("seconds", "long"), changed("key", 3), changed("key", gone),
        changed("seconds_per_step", "fast")})
    EXPECT_THAT(onward::testing::error_of([&] { with(text); }), ::testing::HasSubstr("is damaged")) << text;
  std::filesystem::remove_all(folder);
}

TEST(Funnel, TablesAtAnEqualPrice) {
  FunnelSettings s = small();
  s.samplers = {"rwm", "mala", "pc-line-fmala"};
  const auto table = funnel_table(s);
  ASSERT_EQ(table->equal.size(), 2U);
  EXPECT_EQ(table->equal[0].budget, Budget::evaluations);
  for (const auto& row : table->equal[0].rows) {
    EXPECT_EQ(row.evaluations, 2 * s.steps) << row.sampler;
    EXPECT_FALSE(row.published);
  }
  EXPECT_EQ(table->equal[1].budget, Budget::time);
  EXPECT_EQ(table->equal[1].rows.back().steps, s.steps) << "the measure of time is the last sampler";
  EXPECT_GT(table->equal[1].rows.front().steps, s.steps) << "rwm is cheaper";
  EXPECT_GT(table->equal[0].rows.front().points.size(), 500U);
  for (const char* word : {"At equal evaluations", "At equal time"})
    EXPECT_THAT(funnel_text(*table), ::testing::HasSubstr(word));
}

TEST(Funnel, OneSeedHasNoDeviationAndNoPValue) {
  FunnelSettings s = small();
  s.seeds = 1;
  const auto table = funnel_table(s);
  for (const auto& row : table->rows) {
    EXPECT_TRUE(std::isnan(row.cells[row.best].kl_over_seeds.sd));
    EXPECT_FALSE(row.p_value);
  }
  EXPECT_THAT(funnel_text(*table), ::testing::HasSubstr("no standard deviation and no p-value"));
}

TEST(Funnel, RefusesSettingsThatMakeNoSense) {
  const auto message = [](auto change) -> std::string {
    FunnelSettings s = small();
    change(s);
    try {
      funnel_table(s);
    } catch (const UsageError& problem) {
      return problem.what();
    }
    return "";
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(message([](auto& s) { s.step_sizes = 0; }), HasSubstr("grid is empty"));
  EXPECT_THAT(message([](auto& s) { s.min_step_size = 2; }), HasSubstr("from 2 to 2"));
  EXPECT_THAT(message([](auto& s) { s.min_step_size = -1; }), HasSubstr("-1"));
  EXPECT_THAT(message([](auto& s) { s.samplers = {"fmalla"}; }), HasSubstr("fmala"));
  EXPECT_THAT(message([](auto& s) { s.dims = {}; }), HasSubstr("--dims"));
  EXPECT_THAT(message([](auto& s) { s.lanes = 1000; }), HasSubstr("1000"));
}

// PC-Line-FMALA and MALA at D = 10 are known well enough to be held to the published KLs at the paper's own
// settings.
TEST(Funnel, AgreesWithThePublishedTableLong) {
  FunnelSettings s;
  s.dims = {10};
  s.samplers = {"mala", "pc-line-fmala"};
  s.step_sizes = 40;
  s.threads = 2;
  const auto table = funnel_table(s);
  for (const auto& row : table->rows) {
    ASSERT_TRUE(row.published_p);
    EXPECT_GT(*row.published_p, 1e-4) << row.sampler << " " << row.cells[row.best].kl_over_seeds.mean;
  }
}

}  // namespace
}  // namespace onward::experiments
