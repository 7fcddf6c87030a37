// `onward loo`: figures, comparison, files, and what it refuses.

#include "onward/diagnostics/loo.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "glm_program.hpp"
#include "onward/io/netcdf.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LooRun : public Glm {
 protected:
  void SetUp() override {
    Glm::SetUp();
    std::vector<double> first;
    for (std::size_t i = 0; i < rows; ++i) first.push_back(x[2 * i]);
    save("first.npy", first, {rows, 1});
  }

  void sample(const std::string& words) const {
    const Outcome outcome = onward("sample glm --seed 1 --draws 200 --quiet " + words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  json judged(const std::string& words) const {
    const Outcome outcome = onward("loo --json --quiet " + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = get(path(file));
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    put(file, text.replace(at, from.size(), to));
  }

  const std::string measured = "--x x.npy --y measured.npy --family gaussian";
};

TEST_F(LooRun, IsThatOfTheLogLikelihoodsThatARunKeeps) {
  sample(measured + " --format csv,netcdf --log-likelihood --out run");
  NetcdfReader reader(path("run/draws.nc"), "log_likelihood");
  std::vector<std::vector<double>> columns;
  for (std::size_t i = 0; i < rows; ++i) {
    columns.emplace_back();
    for (const auto& chain : reader.column(0, i))
      columns.back().insert(columns.back().end(), chain.begin(), chain.end());
  }
  const PointwiseLogLikelihood kept{rows, 4, 200, [&](std::size_t draw, std::size_t first, auto out) {
                                      for (std::size_t i = 0; i < out.size(); ++i)
                                        out[i] = columns[first + i][draw];
                                    }};
  const Loo expected = loo(kept).value();
  const json model = judged("run").at("models").at(0);
  EXPECT_NEAR(model.at("elpd_loo"), expected.elpd.value, 1e-9);
  EXPECT_NEAR(model.at("se_elpd_loo"), expected.elpd.se, 1e-9);
  EXPECT_NEAR(model.at("p_loo"), expected.p.value, 1e-9);
  EXPECT_NEAR(model.at("mcse_elpd_loo"), expected.mcse(), 1e-9);
  EXPECT_EQ(model.at("pareto_k").at("good"), expected.k_counts[0]);
  EXPECT_EQ(model.at("observations"), rows);
  EXPECT_NEAR(judged("run --waic").at("models").at(0).at("elpd_waic"), waic(kept).value().elpd.value, 1e-9);
  // Without CSV files the draws come from draws.nc.
  for (int chain = 1; chain <= 4; ++chain)
    std::filesystem::remove(path("run/chain-" + std::to_string(chain) + ".csv"));
  EXPECT_EQ(judged("run").at("models").at(0), model);
}

TEST_F(LooRun, ComparesRunsAndWritesObservations) {
  sample(measured + " --out both");
  sample("--x first.npy --y measured.npy --family gaussian --out one");
  const json all = judged("one both --pointwise points.csv");
  EXPECT_EQ(all.at("criterion"), "loo");
  const json order = all.at("comparison");
  EXPECT_EQ(order.at(0).at("folder"), "both");
  EXPECT_EQ(order.at(0).at("elpd_diff"), 0);
  EXPECT_EQ(order.at(1).at("folder"), "one");
  EXPECT_NEAR(order.at(1).at("elpd_diff"),
              all["models"][0]["elpd_loo"].get<double>() - all["models"][1]["elpd_loo"].get<double>(), 1e-9);
  EXPECT_LT(order.at(1).at("elpd_diff"), -20);  // the second predictor has a coefficient of -1/2

  const std::string points = get(path("points.csv"));
  EXPECT_THAT(points, ::testing::StartsWith(
                          "run,observation,elpd_loo,mcse_elpd_loo,p_loo,looic,pareto_k,n_eff\none,1,"));
  EXPECT_EQ(std::ranges::count(points, '\n'), 1 + 2 * static_cast<std::ptrdiff_t>(rows));
  cannot("loo one --pointwise points.csv", {"points.csv exists already", "--force"});
  // The same bytes on any number of threads.
  for (const std::string threads : {"1", "3"}) {
    judged("one both --force --pointwise points.csv --threads " + threads);
    EXPECT_EQ(get(path("points.csv")), points);
  }
  const Outcome told = onward("loo one both");
  EXPECT_THAT(told.out, AllOf(HasSubstr("elpd_diff"), HasSubstr("one predicts worse than both, by")));
  EXPECT_THAT(onward("loo both").out,
              AllOf(HasSubstr("elpd_loo"), HasSubstr("200 observations"), HasSubstr("Pareto k")));
  EXPECT_THAT(onward("loo both --waic").out, HasSubstr("p_waic"));
}

TEST_F(LooRun, GroupsFromAFormulaAreComparedToo) {
  std::string table = "y,x,g\n";
  for (std::size_t i = 0; i < rows; ++i)
    table += fmt::format("{},{},{}\n", x[2 * i] + static_cast<double>(i % 10), x[2 * i + 1], i % 10);
  put("table.csv", table);
  for (const auto& [folder, formula] : {std::pair{"plain", "y ~ x"}, {"grouped", "y ~ x + (1 | g)"}}) {
    const Outcome outcome = onward(Words{"glm", "--data", "table.csv", "--formula", formula, "--family",
                                         "gaussian", "--seed", "1", "--quiet", "--out", folder});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  const json order = judged("plain grouped").at("comparison");
  EXPECT_EQ(order.at(0).at("folder"), "grouped");
  EXPECT_LT(order.at(1).at("elpd_diff"), -100);
}

/// They say nothing, so that a run is judged as if they were not there.
TEST_F(LooRun, RowsThatCountForNothingAreNoObservations) {
  std::string table = "y,x,w\n", kept = table;
  for (std::size_t i = 0; i < 60; ++i) {
    const std::string row = fmt::format("{},{},{}\n", x[2 * i], x[2 * i + 1], i % 3 == 0 ? 0 : 1);
    table += row;
    if (i % 3 != 0) kept += row;
  }
  put("table.csv", table);
  put("without.csv", kept);
  const auto fit = [&](const std::string& data, const std::string& folder) {
    const Outcome outcome = onward(Words{"glm", "--data", data, "--formula", "y | weights(w) ~ x", "--family",
                                         "gaussian", "--seed", "1", "--quiet", "--out", folder});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  };
  fit("table.csv", "zeros");
  fit("without.csv", "without");
  const json zeros = judged("zeros --pointwise points.csv").at("models").at(0);
  const json without_them = judged("without").at("models").at(0);
  EXPECT_EQ(zeros.at("observations"), 40);
  EXPECT_NEAR(zeros.at("elpd_loo"), without_them.at("elpd_loo"), 1);
  EXPECT_NEAR(zeros.at("se_elpd_loo"), without_them.at("se_elpd_loo"), 0.3);
  EXPECT_THAT(get(path("points.csv")), AllOf(HasSubstr("zeros,2,"), ::testing::Not(HasSubstr("zeros,1,"))));
  EXPECT_THAT(onward("loo zeros").err, HasSubstr("20 of the 60 rows of the run in zeros have weight 0"));
}

TEST_F(LooRun, KeepingSomeLevelsIsToldAsItIsTyped) {
  std::string table = "y,g\n";
  for (std::size_t i = 0; i < 60; ++i) table += fmt::format("{},{}\n", x[i], i % 10);
  put("table.csv", table);
  ASSERT_EQ(onward(Words{"glm", "--data", "table.csv", "--formula", "y ~ 1 + (1 | g)", "--family", "gaussian",
                         "--keep-groups", "5", "--draws", "50", "--quiet", "--out", "run"})
                .code,
            0);
  cannot("loo run", {"--keep-groups"});
}

TEST_F(LooRun, AnOutlierIsNamed) {
  std::vector<double> y(rows);
  for (std::size_t i = 0; i < rows; ++i) y[i] = x[2 * i];
  y[41] += 1000;
  save("outlier.npy", y);
  sample("--x x.npy --y outlier.npy --family gaussian --out run");
  EXPECT_THAT(
      onward("loo run").out,
      AllOf(HasSubstr("1 of 200 observations has a Pareto k above 0.7 (row 42)"), HasSubstr("very bad")));
  EXPECT_TRUE(judged("run").at("models").at(0).at("mcse_elpd_loo").is_null());
  EXPECT_THAT(onward("loo run --waic").out, HasSubstr("above 0.4, where WAIC cannot be trusted"));
}

TEST_F(LooRun, OneChainAndAnUnfinishedRun) {
  sample(measured + " --chains 1 --out run");
  EXPECT_EQ(judged("run").at("models").at(0).at("chains"), 1);
  replace("run/run.json", "\"complete\"", "\"interrupted\"");
  EXPECT_THAT(onward("loo run").err, HasSubstr("note: the run was interrupted, after 200 of 200 draws"));
}

TEST_F(LooRun, RefusesWhatCannotBeCompared) {
  sample(measured + " --out run");
  sample("--x x.npy --y counts.npy --family gaussian --out other");
  cannot("loo run other", {"run and other", "different outcomes", "the same data"});
  save("short.npy", std::vector<double>(x.begin(), x.begin() + 100), {100, 1});
  save("short-y.npy", std::vector<double>(x.begin(), x.begin() + 100));
  sample("--x short.npy --y short-y.npy --family gaussian --out short");
  cannot("loo run short", {"200 observations", "100", "the same data"});
}

TEST_F(LooRun, RefusesRunsThatDoNotTell) {
  wrong_usage("loo", {"DIR is missing"});
  cannot("loo nowhere", {"nowhere"});
  std::filesystem::create_directory(path("empty"));
  cannot("loo empty", {"empty"});
  ASSERT_EQ(onward("sample eight-schools --draws 50 --quiet --out schools").code, 0);
  cannot("loo schools", {"eight-schools", "no log likelihood of single observations", "regressions"});
  sample(measured + " --keep moments --out moments");
  cannot("loo moments", {"moments", "no draws", "keep"});
  sample(measured + " --sampler mala --warmup 100 --temperature 2 --out warm");
  cannot("loo warm", {"temperature 2"});

  sample(measured + " --out run");
  sample(measured + " --out nan");
  std::ifstream lines(path("nan/chain-2.csv"));
  std::string text, last;
  for (std::string line; std::getline(lines, line); text += line + "\n")
    if (!line.starts_with("#")) last = line;
  const std::string wrong = last.substr(0, last.rfind(',')) + ",nan";
  put("nan/chain-2.csv", text.replace(text.find(last), last.size(), wrong));
  cannot("loo nan", {"observation 1 is nan at draw 200 of chain 2"});
  std::filesystem::remove(path("nan/chain-1.csv"));
  replace("run/chain-1.csv", "beta.1", "beta.7");
  cannot("loo run", {"different columns"});
  std::filesystem::rename(path("x.npy"), path("elsewhere.npy"));
  cannot("loo nan", {"x.npy is gone"});
  std::filesystem::rename(path("elsewhere.npy"), path("x.npy"));
  save("measured.npy", std::vector<double>(rows, 2.0));
  cannot("loo nan", {"measured.npy has changed since the run in nan began"});
}

TEST_F(LooRun, EndsWhenInterrupted) {
  constexpr std::size_t many = 100'000;
  std::vector<float> predictor(many), outcome(many);
  for (std::size_t i = 0; i < many; ++i) {
    predictor[i] = static_cast<float>(x[i % x.size()]);
    outcome[i] = static_cast<float>(i % 2);
  }
  save("many.npy", predictor, {many, 1});
  save("many-y.npy", outcome);
  sample("--x many.npy --y many-y.npy --family bernoulli --draws 1000 --chains 2 --out run");
  Started program({"loo", "run", "--threads", "1", "--pointwise", "points.csv"}, {.folder = path("")});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  program.send(SIGINT);
  const Outcome outcome_of_it = program.wait();
  EXPECT_EQ(outcome_of_it.code, 130);
  EXPECT_EQ(outcome_of_it.out, "");
  EXPECT_THAT(outcome_of_it.err, HasSubstr("interrupted"));
  EXPECT_FALSE(std::filesystem::exists(path("points.csv")));
}

}  // namespace
}  // namespace onward::testing
