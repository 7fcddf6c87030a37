// `onward report`: the page of a run, what it says of runs in trouble, and what it refuses.

#include "onward/report/report.hpp"

#include <span>

#include "onward/io/npy.hpp"
#include "regression_program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Report : public RegressionProgram {
 protected:
  void schools(const std::string& folder, const std::string& more = "") const {
    const Outcome outcome =
        onward("sample eight-schools --sampler newton-line --draws 300 --seed 1 --quiet --out " + folder +
               " " + more);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  /// What the script of a page is given.
  json data_of(const std::string& file) const {
    const std::string page = get(path(file)), begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = page.find(begin);
    EXPECT_NE(from, std::string::npos);
    return json::parse(page.substr(from + begin.size(), page.find("</script>", from) - from - begin.size()));
  }
};

TEST_F(Report, HasEverythingInOneFile) {
  schools("run");
  const Outcome outcome = onward("report run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "run/report.html\n");
  const std::string page = get(path("run/report.html"));
  EXPECT_THAT(page, HasSubstr("<title>eight-schools: run</title>"));
  for (const char* from_elsewhere : {"src=", "<link rel=\"stylesheet", "@import", "url(http"})
    EXPECT_THAT(page, Not(HasSubstr(from_elsewhere)));
  const json run = data_of("run/report.html").at("runs").at(0);
  EXPECT_EQ(run.at("chains"), 4);
  EXPECT_EQ(run.at("draws"), 300);
  ASSERT_EQ(run.at("parameters").size(), 10U);
  const json summary = json_file("run/summary.json");
  for (std::size_t i = 0; i < 10; ++i)
    for (const char* figure : {"mean", "sd", "q5", "q95", "ess_bulk", "rhat"})
      EXPECT_EQ(run.at("parameters").at(i).at(figure), summary.at("parameters").at(i).at(figure))
          << i << figure;
  EXPECT_FALSE(run.at("log_density").get<std::string>().empty());
  // A hundred places of the warm-up of each chain.
  ASSERT_EQ(run.at("warmup").size(), 4U);
  EXPECT_GE(run.at("warmup").at(0).at("steps").get<std::string>().size(), 100U * 4 * 4 / 3);
  // A second report replaces the first, and is the same.
  ASSERT_EQ(onward("report run --threads 1").code, 0);
  EXPECT_EQ(get(path("run/report.html")), page);
}

TEST_F(Report, SaysWhatIsWrongWithARun) {
  ASSERT_EQ(
      onward(
          "sample funnel --dim 20 --sampler mala --draws 100 --warmup 50 --thin 1 --seed 1 --quiet --out bad")
          .code,
      0);
  ASSERT_EQ(onward("report bad").code, 0);
  const json verdict = data_of("bad/report.html").at("runs").at(0).at("verdict");
  EXPECT_EQ(verdict.at("level"), "bad");
  EXPECT_THAT(verdict.at("reasons").dump(), HasSubstr("the chains have not mixed"));
  EXPECT_THAT(verdict.at("reasons").dump(), HasSubstr("--draws"));  // in words of the program
}

TEST_F(Report, KnowsRegressions) {
  sample("y ~ x * f + (1 | g)", "gaussian");
  ASSERT_EQ(onward("report run --out page.html").code, 0);
  const json run = data_of("page.html").at("runs").at(0);
  EXPECT_EQ(run.at("shown"), 8);  // six coefficients, sigma and the sd of the groups, but no levels
  const json& regression = run.at("regression");
  EXPECT_EQ(regression.at("left_out"), json::array());
  EXPECT_EQ(regression.at("effects").size(), 3U);
  EXPECT_GT(regression.at("check").at("statistics").size(), 2U);
  EXPECT_EQ(regression.at("loo").at("observations"), 60);
  ASSERT_EQ(onward("report run --no-checks --out plain.html").code, 0);
  EXPECT_FALSE(data_of("plain.html").at("runs").at(0).contains("regression"));
  // What needs the data is left out once they have changed, and the page says why.
  put("data.csv", get(path("data.csv")) + "1,2,4,0,a,g1,low\n");
  ASSERT_EQ(onward("report run --out changed.html").code, 0);
  const json changed = data_of("changed.html").at("runs").at(0).at("regression");
  EXPECT_EQ(changed.at("effects"), json::array());
  EXPECT_THAT(changed.at("left_out").dump(), HasSubstr("data.csv has changed"));
}

TEST_F(Report, ComparesTwoRuns) {
  schools("one");
  schools("two", "--seed 2");
  const Outcome outcome = onward("report one two");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "one/comparison.html\n");
  const json comparison = data_of("one/comparison.html").at("comparison");
  EXPECT_TRUE(comparison.at("agree"));
  EXPECT_EQ(comparison.at("rows").size(), 10U);
  ASSERT_EQ(comparison.at("settings").size(), 1U);
  EXPECT_EQ(comparison.at("settings").at(0).at("field"), "seed");
}

TEST_F(Report, RefusesWhatIsNoRun) {
  schools("run");
  cannot("report nothing", {"nothing"});
  std::filesystem::create_directory(path("empty"));
  cannot("report empty", {"empty", "chain-1.csv"});
  wrong_usage("report run run run", {"one run or compares two", "3 folders"});
  wrong_usage("report run --out page.pdf", {"--out page.pdf", ".html"});
  put("taken.html", "mine");
  cannot("report run --out taken.html", {"taken.html exists already", "--force"});
  EXPECT_EQ(onward("report run --out taken.html --force").code, 0);
  ASSERT_EQ(onward("sample funnel --dim 3 --sampler rwm --draws 50 --seed 1 --quiet --out funnel").code, 0);
  cannot("report run funnel", {"run is a run of eight-schools", "funnel", "of one model"});
  ASSERT_EQ(onward("sample funnel --dim 4 --sampler rwm --draws 50 --seed 1 --quiet --out larger").code, 0);
  cannot("report larger funnel", {"larger has the parameter", "which funnel has not"});
  ASSERT_EQ(
      onward("sample gaussian --dim 3 --sampler rwm --draws 50 --seed 1 --quiet --keep moments --out sums")
          .code,
      0);
  cannot("report sums", {"sums kept its moments and no draws", "--keep draws"});
  put("run/run.json", get(path("run/run.json")).substr(0, 40));
  cannot("report run", {"run.json"});
  std::filesystem::remove(path("run/run.json"));
  EXPECT_EQ(onward("report run").code, 0);  // draws alone are enough
  put("run/chain-2.csv", "not,a,chain\n");
  cannot("report run", {"chain-2.csv"});
  EXPECT_THAT(onward("report --help").out, HasSubstr("--out FILE.html"));
  EXPECT_THAT(onward("--help").out, HasSubstr("report"));
}

TEST_F(Report, OfARunThatKeptItsPredictionsAlone) {
  put("net.json", R"({"input": 1, "layers": [{"kind": "linear", "outputs": 3}, "tanh",
                      {"kind": "linear", "outputs": 1}]})");
  std::vector<double> x, y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(i * 0.1 - 1.5);
    y.push_back(i % 7 * 0.1);
  }
  const auto save = [&](const char* name, const std::vector<double>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    std::vector<std::size_t> shape{values.size()};
    if (name[0] == 'x') shape.push_back(1);
    write_npy(path(name), {{shape, "<f8"}, {bytes.begin(), bytes.end()}});
  };
  save("x.npy", x);
  save("y.npy", y);
  const Outcome sampled = onward(
      "sample net --net net.json --x x.npy --y y.npy --sampler newton-line --warmup 500 --draws 50 --seed 1 "
      "--keep predictions --quiet --out run");
  ASSERT_EQ(sampled.code, 0) << sampled.err;
  const Outcome outcome = onward("report run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json run = data_of("run/report.html").at("runs").at(0);
  EXPECT_EQ(run.at("parameters"), json::array());
  EXPECT_TRUE(run.at("predictions").contains("curve"));
  EXPECT_THAT(run.at("verdict").at("headline").get<std::string>(), HasSubstr("kept its predictions"));
  cannot("report run run", {"kept its predictions and no draws"});
  std::filesystem::remove(path("run/predictions.npy"));
  cannot("report run", {"has no predictions"});
}

TEST_F(Report, ShowsARunThatIsStillGoingOn) {
  Started run(split("sample gaussian --dim 5 --sampler rwm --warmup 100 --draws 1000000 --thin 100 --seed 1 "
                    "--quiet --out live"),
              {.folder = path("")});
  wait_until([&] {
    const std::string file = path("live/chain-2.csv");
    return std::filesystem::exists(file) && std::filesystem::file_size(file) > 200'000;
  });
  const Outcome outcome = onward("report live --out live.html");
  run.send(SIGKILL);
  run.wait();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json verdict = data_of("live.html").at("runs").at(0).at("verdict");
  EXPECT_NE(verdict.at("level"), "good");
  EXPECT_THAT(verdict.at("reasons").dump(), HasSubstr("is still going on"));
}

}  // namespace
}  // namespace onward::testing
