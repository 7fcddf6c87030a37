// `onward paper bnn` as a user runs it, with a small network.

#include <fstream>

#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PaperBnn : public Program {
 protected:
  const std::string line =
      "paper bnn --hidden 6 --steps 400 --thin 4 --samplers mala,newton-line --temperature 400 --step-size "
      "mala=0.1 "
      "--quiet";

  /// A table without what comes from the clock or the machine.
  static json timeless(json table) {
    table.erase("seconds");
    for (auto& row : table.at("table"))
      for (const char* key : {"seconds", "ms_per_step", "peak_rss_bytes", "rss_bytes_before", "curve"})
        row.erase(key);
    return table;
  }
};

TEST_F(PaperBnn, WritesTablesAndFigures) {
  const Outcome outcome = onward(line + " --out run --json --chains 2");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json table = json::parse(outcome.out);
  ASSERT_EQ(table.at("table").size(), 2u);
  EXPECT_EQ(table["table"][0].at("sampler"), "mala");
  EXPECT_EQ(table["table"][0].at("temperature"), 400);
  EXPECT_EQ(table["table"][0].at("step_size"), 0.1);
  EXPECT_EQ(table["table"][0].at("published").at("nll"), -0.458);
  EXPECT_EQ(table["table"][0].at("nll_of_chains").size(), 2u);
  EXPECT_EQ(table.at("settings").at("burn"), 80);
  for (const char* file : {"table.txt", "table.md", "table.csv", "table.json", "nll.svg", "nll.png",
                           "predictions.svg", "predictions.png"})
    EXPECT_TRUE(fs::exists(path("run") / file)) << file;
  EXPECT_THAT(get(path("run/table.txt")), HasSubstr("chains' range"));
}

TEST_F(PaperBnn, GoesOnWithTheRowsThatAreThere) {
  ASSERT_EQ(onward(line + " --out run").code, 0);
  const json whole = json_file("run/table.json");
  fs::remove(path("run/row-newton-line-400.json"));
  fs::remove(path("run/table.json"));
  const std::string kept = get(path("run/row-mala-400.json"));
  ASSERT_EQ(onward(line + " --out run --resume").code, 0);
  EXPECT_EQ(timeless(json_file("run/table.json")), timeless(whole));
  EXPECT_EQ(get(path("run/row-mala-400.json")), kept);
  // Rows of other settings are not replaced unasked.
  const Outcome other = onward(line + " --out run --resume --seed 2");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, AllOf(HasSubstr("seed 1, not 2"), HasSubstr("--force")));
  EXPECT_EQ(get(path("run/row-mala-400.json")), kept);
}

TEST_F(PaperBnn, ForceMakesEveryRowAnew) {
  ASSERT_EQ(onward(line + " --out run").code, 0);
  auto row = nlohmann::ordered_json::parse(get(path("run/row-mala-400.json")));
  row["row"]["nll"] = 12345.0;
  std::ofstream(path("run/row-mala-400.json")) << row;
  ASSERT_EQ(onward(line + " --out run --resume").code, 0);  // the row is one that would be taken
  EXPECT_EQ(json_file("run/table.json")["table"][0].at("nll"), 12345.0);
  ASSERT_EQ(onward(line + " --out run --force").code, 0);
  EXPECT_NE(json_file("run/table.json")["table"][0].at("nll"), 12345.0);
}

TEST_F(PaperBnn, InterruptKeepsFinishedSamplers) {
  Started started(
      split("paper bnn --hidden 6 --steps 100000000 --thin 100000 --samplers rwm,newton-line --temperature "
            "400 --step-size rwm=0.1 --out run"),
      {.folder = path("")});
  wait_until([&] { return fs::exists(path("run")); });
  started.send(SIGTERM);
  const Outcome outcome = started.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--resume"));
  EXPECT_FALSE(fs::exists(path("run/row-rwm-400.json")));
}

TEST_F(PaperBnn, WrongRequests) {
  wrong_usage("paper bnn --dims 3", {"--dims", "funnel"});
  wrong_usage("paper bnn --images 30", {"--images", "logreg"});
  wrong_usage("paper funnel --temperature 3", {"--temperature", "bnn"});
  wrong_usage("paper funnel --burn 3", {"--burn", "logreg", "bnn"});
  wrong_usage("paper logreg --chains 3", {"--chains", "funnel", "bnn"});
  wrong_usage("paper bnn --temperature hot", {"--temperature hot"});
  wrong_usage("paper bnn --temperature -4", {"temperature -4"});
  wrong_usage("paper bnn --samplers malla", {"malla", "mala"});
  wrong_usage("paper bnn --steps 100", {"steps 100"});
  cannot("paper bnn --data nowhere.npy --quiet", {"nowhere"});
}

}  // namespace
}  // namespace onward::testing
