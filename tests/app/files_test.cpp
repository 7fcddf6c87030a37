// Start files and run folders: bad ones are explained, and nothing of a user's is lost.

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <set>

#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A one-dimensional .npy file of doubles, as numpy.save writes it.
std::string npy(const std::vector<double>& values) {
  std::string header =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  bytes += header;
  for (double value : values) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof raw);
  }
  return bytes;
}

const std::string short_run = " --draws 20 --warmup 20 --chains 2 --seed 1 --quiet";

class StartFile : public Program {
 protected:
  /// `sample --init` and `evaluate --at` and `--direction` refuse the file alike.
  void refused(int code, const std::string& file, const Words& pieces) const {
    refuses(code, split("sample funnel --dim 2 --init " + file), pieces);
    refuses(code, split("evaluate funnel --dim 2 --at " + file), pieces);
    refuses(code, split("evaluate funnel --dim 2 --direction " + file), pieces);
  }
};

TEST_F(StartFile, OfTheWrongLength) {
  put("short.json", "[1, 2]");
  refused(2, "short.json", {"short.json has 2 entries", "funnel has 3 parameters"});
  put("long.npy", npy({1, 2, 3, 4}));
  refused(2, "long.npy", {"long.npy has 4 entries", "funnel has 3 parameters"});
}

TEST_F(StartFile, WithValuesThatAreNotFinite) {
  put("nan.npy", npy({1, std::numeric_limits<double>::quiet_NaN(), 3}));
  refused(1, "nan.npy", {"nan.npy", "entry 1", "nan", "finite number"});
  put("inf.npy", npy({1, 2, std::numeric_limits<double>::infinity()}));
  refused(1, "inf.npy", {"inf.npy", "entry 2", "inf"});
  put("nan.json", "[NaN, 2, 3]");
  refused(1, "nan.json", {"nan.json", "NaN", "finite number"});
  put("null.json", "[1, null, 3]");
  refused(1, "null.json", {"null.json", "entry 1", "null"});
}

TEST_F(StartFile, ThatIsNoVector) {
  put("cut.npy", npy({1, 2, 3}).substr(0, 140));
  refused(1, "cut.npy", {"cut.npy", "(3) elements", "numpy.save"});
  put("cut.json", "[1, 2");
  refused(1, "cut.json", {"cut.json", "JSON array of numbers such as"});
  put("object.json", R"({"w": 1})");
  refused(1, "object.json", {"object.json", "object"});
  put("empty.json", "");
  refused(1, "empty.json", {"empty.json", "JSON array"});
  refused(1, ".", {"cannot read ."});
}

TEST_F(StartFile, ThatIsMissing) {
  refused(1, "nowhere.json", {"cannot read nowhere.json", "No such file", "Check the name"});
}

TEST_F(StartFile, ScaleOfRandomStarts) {
  wrong_usage("sample funnel --init random:x", {"random:x", "the scale must be"});
  wrong_usage("sample funnel --init random:", {"random:", "the scale must be"});
  wrong_usage("sample funnel --init random:-1", {"random:-1", "0 or a positive number"});
  wrong_usage("evaluate funnel --at random:nan", {"random:nan", "0 or a positive number"});
}

TEST_F(StartFile, IsUsed) {
  put("start.npy", npy({-7, 1e-3, 2e-3}));
  const Outcome outcome = onward(
      "sample funnel --dim 2 --init start.npy --warmup 0 --step-size 1e-9 --out none --json --seed 1"
      " --quiet --draws 4");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto parameters = nlohmann::json::parse(outcome.out).at("parameters");
  EXPECT_NEAR(parameters[0].at("mean").get<double>(), -7, 1e-3);
  EXPECT_NEAR(parameters[2].at("mean").get<double>(), 2e-3, 1e-5);
}

class OutFolder : public Program {};

TEST_F(OutFolder, ThatExistsIsLeftAlone) {
  ASSERT_EQ(onward("sample funnel --out run" + short_run).code, 0);
  put("run/notes.txt", "mine");
  cannot("sample gaussian --out run" + short_run,
         {"the folder run exists", "another --out", "--force"});  // and compares every byte
}

TEST_F(OutFolder, ForceReplacesTheRunAndKeepsTheRest) {
  ASSERT_EQ(onward("sample funnel --out run" + short_run).code, 0);
  put("run/notes.txt", "mine");
  put("run/chain-7.csv", "of an earlier run with more chains");
  fs::create_directory(path("run/deeper"));
  put("run/deeper/chain-1.csv", "mine too");
  const Outcome outcome = onward("sample gaussian --dim 3 --out run --force" + short_run);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(get(path("run/notes.txt")), "mine");
  EXPECT_EQ(get(path("run/deeper/chain-1.csv")), "mine too");
  EXPECT_FALSE(fs::exists(path("run/chain-7.csv")));
  EXPECT_EQ(json_file("run/run.json").at("model").at("name"), "gaussian");
  EXPECT_EQ(onward("summary run --quiet").code, 0);
}

TEST_F(OutFolder, BadSettingsWithForceLoseNothing) {
  ASSERT_EQ(onward("sample funnel --out run" + short_run).code, 0);
  wrong_usage("sample funnel --out run --force --step-size nan", {"step size nan"});
  wrong_usage("sample funel --out run --force", {"funel"});
  cannot("sample funnel --out run --force --init nowhere.json", {"nowhere.json"});
}

TEST_F(OutFolder, ThatIsAFile) {
  put("taken", "a file");
  cannot("sample funnel --out taken", {"taken is a file", "another --out"});
  cannot("sample funnel --out taken --force", {"taken is a file", "another --out"});
}

TEST_F(OutFolder, ThatCannotBeMade) {
  put("taken", "a file");
  cannot("sample funnel --out taken/run", {"cannot make the folder taken/run", "Not a directory", "Check"});
  cannot("sample funnel --out /proc/onward-run", {"cannot make the folder /proc/onward-run", "Check"});
}

TEST_F(OutFolder, ByDefaultIsTheFirstFreeOne) {
  put("onward-out-2", "a file");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(onward("sample gaussian" + short_run).code, 0);
  EXPECT_TRUE(fs::exists(path("onward-out/run.json")));
  EXPECT_EQ(get(path("onward-out-2")), "a file");
  EXPECT_TRUE(fs::exists(path("onward-out-3/run.json")));
  EXPECT_FALSE(fs::exists(path("onward-out-4")));
}

TEST_F(OutFolder, NoneWritesNothing) {
  EXPECT_EQ(onward("sample gaussian --out none" + short_run).code, 0);
  EXPECT_TRUE(on_disk().empty());
}

TEST_F(OutFolder, HoldsTheWholeRun) {
  const Outcome outcome = onward("sample gaussian --dim 2 --condition 4 --out a/b/run" + short_run);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* name : {"run.json", "summary.json", "chain-1.csv", "chain-2.csv", "draws.png"})
    EXPECT_TRUE(fs::exists(path("a/b/run") / name)) << name;
  EXPECT_FALSE(fs::exists(path("a/b/run/chain-3.csv")));
  const auto run = json_file("a/b/run/run.json");
  EXPECT_EQ(run.at("status"), "complete");
  EXPECT_EQ(run.at("model"), (nlohmann::json{{"name", "gaussian"}, {"dim", 2}, {"condition", 4.0}}));
  EXPECT_EQ(run.at("settings").at("seed"), 1);
  EXPECT_EQ(run.at("settings").at("draws"), 20);
}

TEST_F(OutFolder, ForceDoesNotTouchALiveRun) {
  Started live(split("sample gaussian --dim 2 --sampler mala --draws 10000000 --chains 1 --seed 1 --out run"),
               {.folder = path("")});
  wait_until([&] { return fs::exists(path("run/chain-1.csv")); });
  const Outcome other = onward("sample gaussian --dim 2 --draws 10 --seed 2 --out run --force");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("a run is writing to the folder run (process "));
  live.send(SIGINT);
  EXPECT_EQ(live.wait().code, 130);
  EXPECT_EQ(json_file("run/run.json").at("settings").at("seed"), 1);
  EXPECT_FALSE(fs::exists(path("run/.lock")));
  EXPECT_EQ(onward("sample gaussian --dim 2 --draws 10 --seed 2 --out run --force").code, 0);
}

TEST_F(OutFolder, ForceKeepsTheOldRunIfTheNewOneCannotStart) {
  ASSERT_EQ(onward("sample funnel --dim 2 --draws 10 --warmup 10 --sampler mala --seed 1 --out run").code, 0);
  put("far.json", "[1e300, 1e300, 1e300]");
  cannot("sample funnel --dim 2 --sampler mala --out run --force --init far.json", {"cannot start"});
}

TEST_F(OutFolder, RunsThatStartAtOnceHaveFoldersOfTheirOwn) {
  std::vector<std::unique_ptr<Started>> runs;
  for (int seed = 1; seed <= 6; ++seed)
    runs.push_back(std::make_unique<Started>(
        split("sample funnel --dim 2 --sampler mala --draws 10 --warmup 10 --seed " + std::to_string(seed)),
        Started::Options{.folder = path("")}));
  std::set<std::string> folders;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Outcome outcome = runs[i]->wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto at = outcome.err.find("files: ");
    ASSERT_NE(at, std::string::npos) << outcome.err;
    const std::string folder = outcome.err.substr(at + 7, outcome.err.find('\n', at) - at - 7);
    EXPECT_TRUE(folders.insert(folder).second) << folder;
    EXPECT_EQ(json_file(folder + "/run.json").at("settings").at("seed"), i + 1);
  }
}

}  // namespace
}  // namespace onward::testing
