// Table 2 on small images: figures against their definitions, samplers against each other.

#include "experiments/logreg.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "experiments/logreg_report.hpp"
#include "idx_files.hpp"
#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace onward::experiments {
namespace {

using ::testing::HasSubstr;

class Logreg : public onward::testing::Scratch {
 protected:
  void SetUp() override {
    onward::testing::write_small_mnist(path("data"));
    settings.data = path("data");
    settings.images = 400;
    settings.steps = 400;
    settings.burn = 200;
    settings.thin = 4;
    settings.sweeps = 60;
    settings.threads = 1;
    settings.curve_points = 5;
    for (const char* sampler : {"rwm", "mala"}) settings.step_sizes[sampler] = 0.02;
    settings.step_sizes["fmala"] = 0.001;
    settings.step_sizes["line-fmala"] = 0.01;
    settings.step_sizes["pc-fmala"] = 0.03;
  }
  LogregRow row(const std::string& sampler) const {
    return logreg_row(
        settings, sampler, [](double) {}, stop);
  }
  LogregSettings settings;
  std::atomic<bool> stop{false};
};

TEST_F(Logreg, EverySamplerClimbsAndIsJudged) {
  for (const auto& sampler : settings.samplers) {
    SCOPED_TRACE(sampler);
    const LogregRow r = row(sampler);
    EXPECT_EQ(r.dimension, 370u);
    EXPECT_GT(r.log_density, r.log_density_start);
    EXPECT_LE(r.last.nll, 3);  // the start has 2.7
    EXPECT_GT(r.acceptance, 0);
    EXPECT_GT(r.ms_per_step, 0);
    EXPECT_GT(r.peak_bytes, 1e6);
    ASSERT_GE(r.curve.size(), 3u);
    EXPECT_LE(r.curve.back().seconds, r.seconds * 1.001);
    EXPECT_EQ(r.step_size.has_value(), !sampler.starts_with("newton"));
  }
}

TEST_F(Logreg, AxesArriveWhereLongChainsOfAnotherKernelDo) {
  settings.steps = 40'000;
  settings.burn = 10'000;
  settings.thin = 40;
  settings.sweeps = 400;
  const LogregRow axes = row("newton-line-axis"), block = row("newton-line-block");
  EXPECT_LT(*axes.rhat_log_density, 1.05);
  // The log density of 370 nearly normal parameters has a standard deviation of about sqrt(370 / 2).
  const double spread = std::sqrt(370.0 / 2);
  const double error =
      spread * std::hypot(1 / std::sqrt(axes.ess_log_density), 1 / std::sqrt(block.ess_log_density));
  EXPECT_NEAR(axes.log_density, block.log_density, spread + 5 * error);
  EXPECT_NEAR(axes.all.nll, block.all.nll, 0.03);
  EXPECT_GT(axes.all.accuracy, 0.8);
}

TEST_F(Logreg, ThreadsDoNotMatter) {
  const LogregRow one = row("line-fmala");
  settings.threads = 3;
  const LogregRow three = row("line-fmala");
  EXPECT_EQ(one.last.nll, three.last.nll);
  EXPECT_EQ(one.log_density, three.log_density);
  EXPECT_EQ(one.ess_weights_least, three.ess_weights_least);
}

TEST_F(Logreg, StepSizesAreLookedForOnRequest) {
  settings.step_sizes.clear();
  settings.tune = true;
  settings.tune_steps = 50;
  settings.tune_trials = 4;
  const LogregRow r = row("pc-line-fmala");
  EXPECT_TRUE(r.tuned);
  EXPECT_GE(*r.step_size, 0.2);
  EXPECT_LE(*r.step_size, 2.0);
}

TEST_F(Logreg, RowsSurviveJson) {
  const LogregRow r = row("newton-line-axis");
  EXPECT_EQ(to_json(logreg_row_from_json(to_json(r))), to_json(r));
}

TEST_F(Logreg, ReportsHoldOursAndThePublished) {
  const LogregTable table{settings, {row("line-fmala"), row("newton-line-axis")}, 1};
  EXPECT_THAT(logreg_text(table), HasSubstr("(0.290)"));
  EXPECT_THAT(logreg_text(table), HasSubstr("D = 370"));
  EXPECT_THAT(logreg_markdown(table), HasSubstr("| line-fmala |"));
  const auto json = logreg_json(table);
  EXPECT_EQ(json.at("table").at(0).at("published").at("ms_per_step"), 63.9);
  EXPECT_TRUE(json.at("table").at(1).at("published").is_null());
  logreg_figure(table, path(""));
  EXPECT_THAT(get(path("curves.svg")), HasSubstr("<svg"));
  EXPECT_TRUE(std::filesystem::exists(path("curves.png")));
}

TEST_F(Logreg, WrongSettings) {
  const auto refused = [&](auto change, const char* piece) {
    LogregSettings wrong = settings;
    change(wrong);
    EXPECT_THAT(onward::testing::error_of([&] { validate(wrong); }), HasSubstr(piece));
  };
  refused([](auto& s) { s.samplers = {"malla"}; }, "mala");
  refused([](auto& s) { s.samplers.clear(); }, "at least one");
  refused([](auto& s) { s.burn = 400; }, "burn 400");
  refused([](auto& s) { s.steps = 3; }, "steps 3");
  refused([](auto& s) { s.sweeps = 2; }, "sweeps 2");
  refused([](auto& s) { s.step_sizes["newton-line"] = 1; }, "no step size");
  refused([](auto& s) { s.step_sizes["mala"] = -1; }, "-1");
  settings.data = path("nowhere");
  EXPECT_THAT(onward::testing::error_of([&] { row("mala"); }), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace onward::experiments
