// Runs that are killed and go on: `onward sample --resume`, and `--from`, which does a run again. The long
// form of the first test is tools/kill-test.

#include <span>

#include "onward/io/folder_lock.hpp"
#include "onward/io/npy.hpp"
#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string often = " --seed 1 --quiet --checkpoint-seconds 0.01 ";
const std::string glm = "glm --x x.npy --y yes.npy --family bernoulli --draws 1500";
const std::string net =
    "net --net net.json --x x.npy --y real.npy --sampler pc-line-fmala --warmup 1000 --draws 40 --format npy";

class ResumeTest : public Program {
 protected:
  void SetUp() override {
    constexpr std::size_t rows = 100;
    const Stream stream(3, 0);
    std::vector<double> x(2 * rows), real(rows), yes(rows), classes(rows);
    stream.normals(0, Purpose::noise, x);
    stream.normals(1, Purpose::noise, real);
    for (std::size_t i = 0; i < rows; ++i) {
      classes[i] = real[i] > 0.5 ? 2 : real[i] > -0.5 ? 1 : 0;
      real[i] += x[2 * i];
      yes[i] = real[i] > 0 ? 1 : 0;
    }
    save("x.npy", x, {rows, 2});
    save("real.npy", real, {rows});
    save("yes.npy", yes, {rows});
    save("classes.npy", classes, {rows});
    put("net.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 3}, "tanh",
                                               {"kind": "linear", "outputs": 1}]})");
    put("start.json", "[0.1, -0.2, 0.3]");
  }

  void save(const std::string& name, const std::vector<double>& values,
            std::vector<std::size_t> shape) const {
    const auto bytes = std::as_bytes(std::span(values));
    write_npy(path(name), {{std::move(shape), "<f8"}, {bytes.begin(), bytes.end()}});
  }

  void sampled(const std::string& words) const {
    const Outcome outcome = onward("sample " + words);
    ASSERT_EQ(outcome.code, 0) << words << ": " << outcome.err;
  }

  /// All that must be the same however often a run was stopped: draws and predictions byte for byte, and what
  /// is said of them but for times.
  std::map<std::string, std::string> results(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(path(folder))) {
      const std::string name = entry.path().filename();
      std::string bytes = get(entry.path());
      if (name == "summary.json") {
        json summary = json::parse(bytes);
        for (const char* field : {"seconds", "steps_per_second", "peak_rss_bytes"}) summary.erase(field);
        bytes = summary.dump(1);
      } else if (name == "run.json") {
        bytes = json::parse(bytes).dump(1);
      } else if (name == "checkpoint") {
        bytes = "";                     // it has times
      } else if (name == "draws.nc") {  // it has the time in it, with checksums
        bytes = onward("summary --json " + entry.path().string()).out;
      }
      files[name] = std::move(bytes);
    }
    return files;
  }

  void expect_same(const std::string& a, const std::string& b) const {
    const auto one = results(a), two = results(b);
    for (const auto& [name, bytes] : one) {
      EXPECT_TRUE(two.contains(name)) << b << " has no " << name;
      if (two.contains(name)) {
        EXPECT_TRUE(bytes == two.at(name)) << name << " of " << a << " and " << b;
      }
    }
    EXPECT_EQ(one.size(), two.size());
  }

  /// Starts a run and kills it as soon as it is so.
  void kill_when(const std::string& words, const std::function<bool()>& it_is_so) const {
    Started run(split("sample " + words), {.folder = path("")});
    wait_until(it_is_so);
    run.send(SIGKILL);
    EXPECT_EQ(run.wait().code, -SIGKILL) << words;
  }
  bool there(const std::string& file) const { return fs::exists(path(file)); }
};

TEST_F(ResumeTest, KilledRunsGoOnAsIfTheyHadNeverStopped) {
  const Words cases{"funnel --dim 3 --sampler pc-line-fmala --draws 3000 --warmup 9000", glm, net,
                    "eight-schools --sampler newton-line --draws 1000 --format csv,netcdf",
                    "eight-schools --sampler newton-line --until-ess 2500 --format netcdf"};
  int i = 0;
  for (const auto& words : cases) {
    SCOPED_TRACE(words);
    const std::string name = std::to_string(++i);
    const auto begin = std::chrono::steady_clock::now();
    sampled(words + often + "--out whole" + name);
    const auto whole = std::chrono::steady_clock::now() - begin;
    const std::string run = "run" + name;
    std::string line = words + often + "--threads 2 --out " + run;
    for (int kill = 1; kill <= 2; ++kill) {
      Started started(split("sample " + line), {.folder = path("")});
      std::this_thread::sleep_for(whole * kill / 3);
      started.send(SIGKILL);
      started.wait();
      if (there(run + "/run.json"))
        line = "--resume --quiet --checkpoint-seconds 0.01 --out " + run;
      else
        fs::remove_all(path(run));
    }
    sampled(line + " --threads 3");
    expect_same("whole" + name, run);
  }
}

TEST_F(ResumeTest, ARunWithoutACheckpointBeginsAgain) {
  const std::string words = "funnel --dim 3 --sampler pc-line-fmala --seed 1 --draws 200 ";
  sampled(words + "--out whole --quiet --warmup 400000");
  kill_when(words + "--out run --quiet --warmup 400000",
            [&] { return there("run/run.json") && there("run/chain-1.csv"); });
  EXPECT_EQ(json_file("run/run.json").at("status"), "unfinished");
  ASSERT_FALSE(there("run/checkpoint"));
  EXPECT_THAT(onward("summary run").err, HasSubstr("no draws"));
  fs::remove(path("run/.lock"));  // of the dead; else its going would be noticed
  cannot("sample --resume --out run --seed 2", {"seed 1, not 2"});
  const Outcome outcome = onward("sample --resume --out run");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("before its first checkpoint: it begins again"));
  expect_same("whole", "run");
  // A checkpoint that went away is another matter: the draws that are there stay.
  fs::remove(path("run/checkpoint"));
  cannot("sample --resume --out run", {"no checkpoint", "--from run"});
}

TEST_F(ResumeTest, AKilledReplacementGivesWayToTheOldRun) {
  sampled("eight-schools --sampler newton-line --draws 50 --out run" + often);
  const auto before = results("run");
  // Killed at the very beginning: the old run is set aside, and the new one has not made a step.
  fs::create_directory(path("run/.replaced"));
  for (const auto& [name, bytes] : before) fs::rename(path("run") / name, path("run/.replaced") / name);
  put("run/run.json", R"({"model": {"name": "funnel"}, "settings": {}, "status": "unfinished"})");
  sampled("--resume --quiet --out run");
  EXPECT_EQ(results("run"), before);
}

TEST_F(ResumeTest, MoreDrawsProlongARun) {
  const std::string words = "eight-schools --sampler newton-line --format csv,netcdf" + often;
  sampled(words + "--draws 300 --out whole");
  sampled(words + "--draws 100 --out run");
  const double seconds = json_file("run/summary.json")["seconds"]["warmup"];
  sampled("--resume --draws 300 --quiet --out run");
  expect_same("whole", "run");
  EXPECT_GE(json_file("run/summary.json")["seconds"]["warmup"].get<double>(), seconds / 2);
  cannot("sample --resume --out run --draws 200", {"300 draws a chain already", "--draws 200"});
}

TEST_F(ResumeTest, ACompleteRunHasNothingLeftToDo) {
  sampled("eight-schools --draws 200 --out run" + often);
  EXPECT_TRUE(json_file("run/run.json").contains("choice"));
  const auto before = results("run");
  const Outcome outcome = onward("sample --resume --out run");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("theta.1"));
  EXPECT_THAT(outcome.err, HasSubstr("all draws were there already"));
  EXPECT_EQ(results("run"), before);  // how the sampler was chosen is still told
}

TEST_F(ResumeTest, BadCheckpointsAreRefused) {
  sampled("funnel --dim 3 --sampler mala --draws 100 --out run" + often);
  sampled("funnel --dim 4 --sampler mala --draws 100 --out other" + often);
  const std::string good = get(path("run/checkpoint"));
  const auto refused = [&](const std::string& bytes, const Words& pieces) {
    put("run/checkpoint", bytes);
    cannot("sample --resume --out run --draws 200", pieces);
  };
  std::string version = good;
  version.replace(version.find(" 5\n"), 3, " 9\n");
  refused(version, {"run/checkpoint", "another version"});
  refused(get(path("other/checkpoint")), {"model's dim 4, not 3"});
  refused("", {"run/checkpoint", "not a checkpoint"});
  for (const std::size_t size : {std::size_t{22}, good.size() / 2, good.size() - 1})
    refused(good.substr(0, size), {"run/checkpoint", "damaged or cut short"});
  for (const std::size_t place : {std::size_t{24}, good.size() / 2, good.size() - 1}) {
    std::string flipped = good;
    flipped[place] = static_cast<char>(flipped[place] ^ 4);
    refused(flipped, {"run/checkpoint", "damaged"});
  }
  put("run/checkpoint", good);
  sampled("--resume --out run --draws 200 --quiet");
}

TEST_F(ResumeTest, OneWriterAtATime) {
  sampled("funnel --dim 3 --sampler mala --draws 100 --out run" + often);
  {
    const FolderLock lock(path("run"));
    const Outcome outcome = onward("sample --resume --out run --draws 200");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("a run is writing to the folder run (process "));
  }
  sampled("--resume --out run --draws 200 --quiet");
}

TEST_F(ResumeTest, DataMustBeWhatTheyWere) {
  sampled(glm + " --out run" + often);
  std::vector<double> x(200, 0.25);
  x[0] = 1;
  const std::string old_x = get(path("x.npy"));
  save("x.npy", x, {100, 2});
  cannot("sample --resume --out run --draws 2000", {"x.npy has changed since the run in run began"});
  fs::remove(path("x.npy"));
  cannot("sample --resume --out run --draws 2000", {"x.npy", "No such file"});
  put("x.npy", old_x);
  sampled("--resume --out run --draws 2000 --quiet");
}

TEST_F(ResumeTest, RunJsonMustBeWhole) {
  sampled("funnel --dim 3 --sampler mala --draws 100 --out run" + often);
  const std::string good = get(path("run/run.json"));
  const auto refused = [&](const std::string& text, const Words& pieces) {
    put("run/run.json", text);
    cannot("sample --resume --out run --draws 200", pieces);
    cannot("sample --from run --out new", pieces);
  };
  refused("", {"run/run.json"});
  refused(good.substr(0, good.size() / 2), {"run/run.json"});
  refused("[1, 2]", {"run/run.json is damaged"});
  refused(R"({"model": {"name": 3}, "settings": {}})", {"run/run.json is damaged"});
  json other = json::parse(good);
  other["model"]["wheels"] = 4;
  refused(other.dump(), {"run/run.json: funnel has no option `wheels`", "`dim`"});
  other = json::parse(good);
  other["model"]["name"] = "funel";
  refused(other.dump(), {"run/run.json: there is no model 'funel'", "Did you mean funnel?"});
  other = json::parse(good);
  other["model"]["dim"] = {1, 2};
  refused(other.dump(), {"run/run.json", "`dim` [1,2]", "whole number"});
  json later = json::parse(good);
  later["settings"]["frobnication"] = 3;
  refused(later.dump(), {"run/run.json: there is no setting `frobnication`", "later version"});
  later["settings"].erase("frobnication");
  later["settings"]["force"] = true;  // an option, but no setting of a run
  refused(later.dump(), {"there is no setting `force`"});
  later["settings"].erase("force");
  later["settings"]["inner"] = "two";
  refused(later.dump(), {"run/run.json: `inner` two"});
  later = json::parse(good);
  later["keep"] = "everything";
  refused(later.dump(), {"run/run.json: `keep` everything is not known"});
  later = json::parse(good);
  later["settings"]["draws"] = "many";
  put("run/run.json", later.dump());
  cannot("sample --from run --out new", {"run/run.json: `draws` many"});
  fs::remove(path("run/run.json"));
  cannot("sample --resume --out run", {"run/run.json is not there", "not the folder of a run"});
  cannot("sample --from run --out new", {"run/run.json is not there"});
  cannot("sample --resume --out nowhere", {"no folder nowhere"});
  // Beside what is needed there may be more: it stays.
  later = json::parse(good);
  later["remark"] = "mine";
  put("run/run.json", later.dump());
  sampled("--resume --out run --draws 200 --quiet");
  EXPECT_EQ(json_file("run/run.json").at("remark"), "mine");
}

TEST_F(ResumeTest, WhatRunJsonDoesNotSayIsTold) {
  sampled("funnel --dim 3 --sampler mala --draws 20 --out run");
  EXPECT_THAT(onward("sample --from run --out same").err, Not(HasSubstr("does not say")));
  json less = json_file("run/run.json");
  less["settings"].erase("thin");
  less["settings"]["warmup"] = nullptr;
  put("run/run.json", less.dump());
  const Outcome outcome = onward("sample --from run --out again");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("run/run.json does not say --thin: the default is taken"));
  EXPECT_THAT(outcome.err, HasSubstr("--warmup"));
  EXPECT_THAT(onward("sample --from run --out given --thin 1 --warmup 100").err,
              Not(HasSubstr("does not say")));
}

TEST_F(ResumeTest, OptionsThatWouldMakeAnotherRunAreRefused) {
  sampled("funnel --dim 3 --sampler mala --draws 100 --out run" + often);
  const std::string line = "sample --resume --out run --draws 200 ";
  cannot(line + "--seed 2", {"setting seed 1, not 2"});
  cannot(line + "--sampler rwm", {"the run in run has the setting sampler mala, not rwm"});
  cannot(line + "--sampler newton-line", {"the run in run has the setting sampler mala, not newton-line"});
  cannot(line + "--chains 2", {"setting chains 4, not 2"});
  cannot(line + "--thin 2", {"setting thin 1, not 2"});
  cannot(line + "--dim 4", {"model's dim 3, not 4"});
  cannot("sample gaussian --resume --out run", {"the model funnel, not gaussian"});
  wrong_usage("sample --resume", {"--resume needs", "--out DIR"});
  wrong_usage("sample funnel --resume", {"--resume needs", "--out DIR"});
  wrong_usage(line + "--force", {"--force"});
  wrong_usage(line + "--from run", {"--from", "leave one of them out"});
  sampled("funnel --resume --out run --draws 200 --threads 2 --quiet --max-seconds 100");
}

TEST_F(ResumeTest, ANetcdfFileThatCannotBeWrittenCanBeMadeLater) {
  const std::string words = "eight-schools --sampler newton-line --draws 4000 --format netcdf" + often;
  sampled(words + "--out whole");
  kill_when(words + "--out run", [&] {
    return there("run/checkpoint") && there("run/draws.nc.chain-1") &&
           fs::file_size(path("run/draws.nc.chain-1")) > 4000;
  });
  fs::create_directories(path("run/draws.nc/in the way"));
  const Outcome outcome = onward("sample --resume --out run --quiet");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("theta.1"));  // what was sampled is shown
  EXPECT_THAT(outcome.err, HasSubstr("cannot write run/draws.nc"));
  fs::remove_all(path("run/draws.nc"));
  sampled("--resume --out run --quiet");
  expect_same("whole", "run");
}

TEST_F(ResumeTest, AFullDiskIsNoEnd) {
  const std::string words = "eight-schools --sampler newton-line --draws 1000 --format csv,netcdf" + often;
  sampled(words + "--out whole");
  for (const rlim_t limit : {300, 5000, 50000, 200000}) {
    SCOPED_TRACE(limit);
    fs::remove_all(path("run"));
    const Outcome outcome =
        Started(split("sample " + words + "--out run"), {.folder = path(""), .file_size_limit = limit})
            .wait();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("ulimit -f"));
    sampled((there("run/run.json") ? "--resume --quiet" : words + "--force") + " --out run");
    expect_same("whole", "run");
  }
}

TEST_F(ResumeTest, FromDoesARunAgain) {
  const Words cases{"funnel --dim 2 --sampler line-fmala --init start.json --temperature 2 --draws 100",
                    "eight-schools --draws 100",  // by a sampler that pilots chose
                    "gaussian --dim 5 --sampler mala --tune grid --tune-trials 3 --draws 100",
                    "eight-schools --sampler newton-line --draws 100 --format csv,netcdf --single-precision",
                    "eight-schools --sampler newton-line --until-ess 1000",
                    glm,
                    glm + " --sampler line-fmala --warmup 500 --draws 50 --no-intercept",
                    "glm --x x.npy --y real.npy --family gaussian --draws 100 --prior normal:2",
                    "glm --x x.npy --y classes.npy --family categorical --draws 100",
                    net,
                    net + " --show weights --test-x x.npy --test-images 7 --standardise --directions units",
                    net + " --sampler mala --piece 30 --test-x x.npy"};
  int i = 0;
  for (const auto& words : cases) {
    SCOPED_TRACE(words);
    const std::string one = "one" + std::to_string(++i), two = "two" + std::to_string(i);
    sampled(words + " --seed 1 --quiet --out " + one);
    sampled("--from " + one + " --quiet --out " + two);
    auto a = results(one), b = results(two);
    for (auto* files : {&a, &b})
      for (const char* name : {"run.json", "summary.json"}) {
        json told = json::parse(files->at(name));
        for (const char* field : {"choice", "tuning"}) told.erase(field);  // it is not chosen again
        files->at(name) = told.dump();
      }
    for (const auto& [name, bytes] : a) EXPECT_TRUE(b.contains(name) && bytes == b.at(name)) << name;
    EXPECT_EQ(a.size(), b.size());
  }
}

TEST_F(ResumeTest, FromTellsOfFilesThatHaveChanged) {
  const auto again = [&](const std::string& out) {
    const Outcome outcome = onward("sample --from " + out + " --out again --force");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  sampled(glm + " --out run" + often);
  EXPECT_THAT(again("run"), Not(HasSubstr("has changed")));
  std::vector<double> x(200, 0.25);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * i % 17);
  save("x.npy", x, {100, 2});
  EXPECT_THAT(again("run"), HasSubstr("note: x.npy has changed since the run in run"));
  sampled("funnel --dim 2 --sampler mala --draws 20 --init start.json --out begun" + often);
  put("start.json", "[0.2, -0.2, 0.3]");
  EXPECT_THAT(again("begun"), Not(HasSubstr("has changed")));  // run.json has the numbers themselves
}

TEST_F(ResumeTest, WhatIsGivenBesidesFromWins) {
  sampled("funnel --dim 3 --sampler pc-line-fmala --draws 60 --chains 2 --seed 5 --quiet --out one");
  sampled("--from one --out two --draws 40 --seed 6 --format netcdf --quiet");
  const json settings = json_file("two/run.json").at("settings");
  EXPECT_EQ(settings.at("draws"), 40);
  EXPECT_EQ(settings.at("seed"), 6);
  EXPECT_EQ(settings.at("chains"), 2);
  EXPECT_EQ(json_file("two/run.json").at("model").at("dim"), 3);
  EXPECT_TRUE(there("two/draws.nc"));
  EXPECT_FALSE(there("two/chain-1.csv"));
  cannot("sample gaussian --from one --out three", {"the model funnel, not gaussian"});
  cannot("sample --from one --out two", {"two", "--force"});
}

TEST_F(ResumeTest, SinglePrecisionIsRemembered) {
  const std::string words =
      "eight-schools --sampler newton-line --format csv,netcdf --single-precision" + often;
  sampled(words + "--draws 300 --out whole");
  sampled(words + "--draws 100 --out run");
  sampled("--resume --draws 300 --quiet --out run");
  expect_same("whole", "run");
}

}  // namespace
}  // namespace onward::testing
