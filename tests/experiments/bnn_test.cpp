// Table 3 with a small network: figures against their definitions, samplers against each other.

#include "experiments/bnn.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "experiments/bnn_report.hpp"
#include "io/npy_bytes.hpp"
#include "io/scratch.hpp"

namespace onward::experiments {
namespace {

using onward::testing::error_of;
using ::testing::HasSubstr;

class Bnn : public onward::testing::Scratch {
 protected:
  Bnn() {
    settings.hidden = {8};
    settings.steps = 2000;
    settings.burn = 400;
    settings.thin = 4;
    settings.threads = 1;
    settings.curve_points = 5;
    settings.prior_sd = 1;
    settings.sigma = 0.1;
    settings.step_sizes = {{"rwm", 0.1},         {"mala", 0.1},     {"fmala", 0.02},
                           {"line-fmala", 0.05}, {"pc-fmala", 0.3}, {"pc-line-fmala", 1.2}};
  }
  BnnRow row(const std::string& sampler, double temperature = 400) const {
    return bnn_row(
        settings, sampler, temperature, [](double) {}, stop);
  }
  BnnSettings settings;
  std::atomic<bool> stop{false};
};

TEST_F(Bnn, EverySamplerClimbsAndIsJudged) {
  for (const auto& sampler : settings.samplers) {
    SCOPED_TRACE(sampler);
    const BnnRow r = row(sampler);
    EXPECT_EQ(r.dimension, 25u);
    EXPECT_EQ(r.points, 400u);
    EXPECT_LT(r.last.mse, 0.9);  // 1 is the variance of y
    EXPECT_GT(r.acceptance, 0.02);
    EXPECT_EQ(r.kept, 400u);
    EXPECT_EQ(r.last_of_chains.size(), 1u);
    EXPECT_EQ(r.last_of_chains[0].nll, r.last.nll);
    EXPECT_GT(r.ms_per_step, 0);
    EXPECT_GT(r.peak_bytes, 1e6);
    EXPECT_GT(r.bytes_before, 1e6);
    EXPECT_GT(r.weight_rms, 0);
    EXPECT_EQ(r.curve.size(), 5u);
    EXPECT_EQ(r.curve.back().step, 2000);
    EXPECT_NEAR(r.curve.back().nll, r.last.nll, 1e-9);
    ASSERT_EQ(r.band.x.size(), r.band.mean.size());
    for (std::size_t i = 0; i < r.band.x.size(); ++i) EXPECT_LE(r.band.low[i], r.band.high[i]);
    EXPECT_EQ(r.step_size.has_value(), sampler != "newton-line");
  }
}

TEST_F(Bnn, ChainsOfDifferentKernelsAgreeWhenTheyHaveArrived) {
  // Wide noise and narrow weights: an easy posterior, whose predictions are a property of the target.
  settings.sigma = 1;
  settings.prior_sd = 0.5;
  settings.steps = 60'000;
  settings.burn = 10'000;
  settings.thin = 20;
  settings.chains = 4;
  const BnnRow newton = row("newton-line", 1), line = row("pc-line-fmala", 1);
  // The chains' last 100 draws tell how far figures of 100 draws lie apart; those of all 2,500 lie closer.
  double squares = 0;
  for (const BnnRow* r : {&newton, &line}) {
    ASSERT_EQ(r->last_of_chains.size(), 4u);
    for (const auto& chain : r->last_of_chains) squares += std::pow(chain.nll - r->last.nll, 2) / 6;
  }
  const double error = std::sqrt(squares * 2 / 4);
  EXPECT_LT(error, 0.01);
  EXPECT_NEAR(newton.all.nll, line.all.nll, 5.5 * error);
  EXPECT_NEAR(newton.all.mse, line.all.mse, 0.01);
}

TEST_F(Bnn, ThreadsDoNotMatter) {
  const BnnRow one = row("line-fmala");
  settings.threads = 3;
  const BnnRow three = row("line-fmala");
  EXPECT_EQ(one.last.nll, three.last.nll);
  EXPECT_EQ(one.log_density, three.log_density);
  settings.chains = 2;
  EXPECT_EQ(row("line-fmala").last_of_chains[0].nll, one.last.nll);  // the first chain is the same chain
}

TEST_F(Bnn, StepSizesAreLookedForWhereNoneIsStored) {
  settings.step_sizes.clear();
  settings.tune_steps = 100;
  settings.tune_trials = 4;
  const BnnRow r = row("pc-line-fmala");
  EXPECT_TRUE(r.tuned);
  EXPECT_GE(*r.step_size, 0.2);
  EXPECT_LE(*r.step_size, 2.5);
  EXPECT_TRUE(stored_bnn_step_size("line-fmala", 400));
  EXPECT_TRUE(stored_bnn_step_size("line-fmala", 1));
  EXPECT_FALSE(stored_bnn_step_size("line-fmala", 20));
  EXPECT_FALSE(stored_bnn_step_size("newton-line", 400));
}

TEST_F(Bnn, LineSamplersTakeTheDirectionsThatAreAskedFor) {
  const BnnRow units = row("pc-line-fmala"), plain = row("fmala");
  EXPECT_EQ(units.directions, "units");
  EXPECT_EQ(plain.directions, "sphere");
  settings.directions = "sphere";
  const BnnRow sphere = row("pc-line-fmala");
  EXPECT_EQ(sphere.directions, "sphere");
  EXPECT_NE(sphere.last.nll, units.last.nll);
  EXPECT_EQ(row("fmala").last.nll, plain.last.nll);
  settings.directions = "circle";
  EXPECT_THROW(validate(settings), UsageError);
}

TEST_F(Bnn, RowsSurviveJson) {
  settings.chains = 2;
  const BnnRow r = row("newton-line", 1);
  EXPECT_EQ(to_json(bnn_row_from_json(to_json(r))), to_json(r));
}

TEST_F(Bnn, ReportsHoldOursAndThePublished) {
  settings.samplers = {"line-fmala", "newton-line"};
  settings.temperatures = {400, 1};
  const BnnTable table{settings, {row("line-fmala"), row("newton-line"), row("line-fmala", 1)}, 1};
  EXPECT_THAT(bnn_text(table), HasSubstr("(-0.671)"));
  EXPECT_THAT(bnn_text(table), HasSubstr("D = 25"));
  EXPECT_THAT(bnn_text(table), HasSubstr("made, not the paper's"));
  EXPECT_THAT(bnn_markdown(table), HasSubstr("| line-fmala | 400 |"));
  EXPECT_THAT(bnn_csv(table), HasSubstr("\nline-fmala,400,"));
  const auto json = bnn_json(table);
  EXPECT_EQ(json.at("table").at(0).at("published").at("ms_per_step"), 35.4);
  EXPECT_TRUE(json.at("table").at(1).at("published").is_null());
  EXPECT_TRUE(json.at("table").at(2).at("published").is_null());  // published at temperature 400 alone
  bnn_figures(table, path(""));
  for (const char* file : {"nll.svg", "nll.png", "predictions.svg", "predictions.png"})
    EXPECT_TRUE(std::filesystem::exists(path(file))) << file;
}

TEST_F(Bnn, PointsComeFromAFileOrAreMade) {
  const Points made = made_points(1);
  ASSERT_EQ(made.size(), 400u);
  EXPECT_EQ(made_points(1), made);
  EXPECT_NE(made_points(2), made);
  // The noise is about a tenth of y's standard deviation, by neighbours in x.
  Points sorted = made;
  std::sort(sorted.begin(), sorted.end());
  double noise = 0, mean = 0, variance = 0, pairs = 0;
  for (std::size_t i = 0; i < 400; ++i) mean += sorted[i].second / 400;
  for (std::size_t i = 0; i < 400; ++i) {
    variance += std::pow(sorted[i].second - mean, 2) / 400;
    if (i == 0 || sorted[i].first - sorted[i - 1].first > 0.1) continue;
    noise += std::pow(sorted[i].second - sorted[i - 1].second, 2) / 2;
    ++pairs;
  }
  EXPECT_NEAR(std::sqrt(noise / pairs / variance), 0.1, 0.03);

  using onward::testing::bytes_of;
  using onward::testing::npy;
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) values.push_back(i);
  const Points read = read_points(put("a.npy", npy("<f8", "(12, 2)", bytes_of(values))));
  ASSERT_EQ(read.size(), 12u);
  EXPECT_EQ(read[3], (std::pair<double, double>(6, 7)));
  EXPECT_THAT(error_of([&] { read_points(put("b.npy", npy("<f8", "(8, 3)", bytes_of(values)))); }),
              HasSubstr("(8, 3)"));
  EXPECT_THAT(error_of([&] { read_points(put("c.npy", npy("<f8", "(24,)", bytes_of(values)))); }),
              HasSubstr("(24)"));
  values[5] = NAN;
  EXPECT_THAT(error_of([&] { read_points(put("d.npy", npy("<f8", "(12, 2)", bytes_of(values)))); }),
              HasSubstr("row 3"));
  settings.data = put("e.npy", npy("<f8", "(12, 2)", bytes_of(std::vector<double>(24, 1.0))));
  EXPECT_THAT(error_of([&] { row("rwm"); }), HasSubstr("standardised"));
}

TEST_F(Bnn, WrongSettings) {
  const auto refused = [&](auto change, const char* piece) {
    BnnSettings wrong = settings;
    change(wrong);
    EXPECT_THAT(error_of([&] { validate(wrong); }), HasSubstr(piece));
  };
  refused([](auto& s) { s.samplers = {"malla"}; }, "mala");
  refused([](auto& s) { s.samplers.clear(); }, "at least one");
  refused([](auto& s) { s.temperatures.clear(); }, "temperatures");
  refused([](auto& s) { s.temperatures = {0}; }, "temperature 0");
  refused([](auto& s) { s.burn = 2000; }, "burn 2000");
  refused([](auto& s) { s.steps = 3; }, "steps 3");
  refused([](auto& s) { s.chains = 0; }, "chains 0");
  refused([](auto& s) { s.hidden = {}; }, "hidden");
  refused([](auto& s) { s.hidden = {3, 0}; }, "hidden 0");
  refused([](auto& s) { s.prior_sd = -1; }, "prior sd -1");
  refused([](auto& s) { s.sigma = NAN; }, "sigma nan");
  refused([](auto& s) { s.step_sizes["newton-line"] = 1; }, "no step size");
  refused([](auto& s) { s.step_sizes["mala"] = -1; }, "-1");
  settings.data = path("nowhere.npy");
  EXPECT_THAT(error_of([&] { row("mala"); }), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace onward::experiments
