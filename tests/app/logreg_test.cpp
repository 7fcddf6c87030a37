// `onward paper logreg` as a user runs it, on small images.

#include "experiments/idx_files.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PaperLogreg : public Program {
 protected:
  void SetUp() override { write_small_mnist(path("data")); }
  const std::string line =
      "paper logreg --data data --steps 200 --thin 4 --sweeps 20 --samplers mala,newton-line-axis "
      "--step-size "
      "mala=0.02 --quiet";

  /// A table without what comes from the clock or the machine.
  static json timeless(json table) {
    table.erase("seconds");
    for (auto& row : table.at("table"))
      for (const char* key :
           {"seconds", "set_up_seconds", "ms_per_step", "peak_rss_bytes", "curve",
            "ess_log_density_per_second", "ess_weights_least_per_second", "ess_weights_median_per_second"})
        row.erase(key);
    return table;
  }
};

TEST_F(PaperLogreg, WritesTablesAndAFigure) {
  const Outcome outcome = onward(line + " --out run --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json table = json::parse(outcome.out);
  ASSERT_EQ(table.at("table").size(), 2u);
  EXPECT_EQ(table["table"][0].at("sampler"), "mala");
  EXPECT_EQ(table["table"][0].at("step_size"), 0.02);
  EXPECT_EQ(table["table"][0].at("published").at("nll"), 0.277);
  EXPECT_EQ(table.at("settings").at("burn"), 100);
  // Of the 60,000 that are the default, those that there are.
  EXPECT_EQ(table.at("settings").at("images"), table["table"][0].at("images"));
  EXPECT_LT(table.at("settings").at("images"), 1000);
  for (const char* file : {"table.txt", "table.md", "table.json", "curves.svg", "curves.png"})
    EXPECT_TRUE(fs::exists(path("run") / file)) << file;
}

TEST_F(PaperLogreg, SaysThatImagesAreNotThoseOfMnist) {
  // Labels of MNIST's number, all of them 0, with fewer images: the note comes before what is wrong.
  put("data/train-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\xea\x60", 8) + std::string(60'000, '\0'));
  const Outcome outcome = onward("paper logreg --data data --quick");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("note: data/train-labels-idx1-ubyte is as large as the file of mnist"),
                    HasSubstr("not a25bea736e30d166cdddb491f175f624"), HasSubstr("60000")));
  EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("t10k-labels-idx1-ubyte is")));
}

TEST_F(PaperLogreg, GoesOnWithTheRowsThatAreThere) {
  ASSERT_EQ(onward(line + " --out run").code, 0);
  const json whole = json_file("run/table.json");
  fs::remove(path("run/row-newton-line-axis.json"));
  fs::remove(path("run/table.json"));
  const std::string kept = get(path("run/row-mala.json"));
  ASSERT_EQ(onward(line + " --out run --resume").code, 0);
  EXPECT_EQ(timeless(json_file("run/table.json")), timeless(whole));
  EXPECT_EQ(get(path("run/row-mala.json")), kept);
  // Rows of other settings are not replaced unasked.
  const Outcome other = onward(line + " --out run --resume --seed 2");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, AllOf(HasSubstr("seed 1, not 2"), HasSubstr("--force")));
  EXPECT_EQ(get(path("run/row-mala.json")), kept);
}

TEST_F(PaperLogreg, InterruptKeepsFinishedSamplers) {
  Started started(split("paper logreg --data data --steps 200 --thin 4 --sweeps 1000000 --samplers "
                        "mala,newton-line-axis --out run"),
                  {.folder = path("")});
  wait_until([&] { return fs::exists(path("run/row-mala.json")); });
  started.send(SIGTERM);
  const Outcome outcome = started.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--resume"));
}

TEST_F(PaperLogreg, WrongRequests) {
  wrong_usage("paper logreg --dims 3", {"--dims", "funnel"});
  wrong_usage("paper funnel --images 100", {"--images", "logreg"});
  wrong_usage("paper logreg --step-size 0.1", {"--step-size 0.1", "sampler"});
  wrong_usage("paper logreg --samplers malla", {"malla", "mala"});
  wrong_usage("paper logreg --steps 100", {"--steps 100", "--thin"});
  cannot("paper logreg --data nowhere --quiet", {"cannot read nowhere", "Check the name"});
  wrong_usage("paper logreg --resume", {"--out"});
}

}  // namespace
}  // namespace onward::testing
