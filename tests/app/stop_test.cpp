// Runs that end early: Ctrl-C, a time limit, a disk that is full. What was sampled stays readable.

#include <fcntl.h>
#include <pty.h>

#include <algorithm>

#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class Stop : public Program {
 protected:
  bool has_bytes(const std::string& file, std::uintmax_t bytes) const {
    std::error_code error;
    const auto size = fs::file_size(path(file), error);
    return !error && size >= bytes;
  }

  /// Every line is whole: the file ends with a line end, and rows have as many commas as the line of names.
  void expect_whole_lines(const std::string& file) const {
    const std::string text = get(path(file));
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(text.back(), '\n') << file;
    std::istringstream in(text);
    std::ptrdiff_t commas = -1;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("#")) continue;
      if (commas < 0) commas = std::ranges::count(line, ',');
      ASSERT_EQ(std::ranges::count(line, ','), commas) << file << ": " << line;
    }
  }
};

/// As `timeout` and some shells send it: to the process and to its group.
TEST_F(Stop, OneSignalThatComesTwiceIsOneWish) {
  Started run(split("sample gaussian --dim 2 --sampler rwm --draws 3000000 --chains 2 --seed 1 --out run"),
              {.folder = path("")});
  wait_until([&] { return has_bytes("run/chain-1.csv", 50'000); });
  run.send(SIGTERM);
  run.send(SIGTERM);
  EXPECT_EQ(run.wait().code, 130);
  EXPECT_EQ(json_file("run/run.json").at("status"), "interrupted");
}

TEST_F(Stop, InterruptedWhileSampling) {
  Started run(split("sample gaussian --dim 2 --draws 10000000 --chains 2 --threads 2 --seed 1 --out run"),
              {.folder = path("")});
  wait_until([&] { return has_bytes("run/chain-1.csv", 50'000) && has_bytes("run/chain-2.csv", 50'000); });
  run.send(SIGINT);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("interrupted after"));
  EXPECT_THAT(outcome.err, HasSubstr("files: run"));
  EXPECT_THAT(outcome.out, HasSubstr("x.2"));
  EXPECT_EQ(json_file("run/run.json").at("status"), "interrupted");
  EXPECT_EQ(json_file("run/summary.json").at("status"), "interrupted");
  expect_whole_lines("run/chain-1.csv");
  expect_whole_lines("run/chain-2.csv");
  const Outcome again = onward("summary run");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(outcome.out, HasSubstr(again.out));
  EXPECT_THAT(again.err, HasSubstr("note: the run was interrupted, after "));
}

TEST_F(Stop, InterruptedInWarmUp) {
  Started run(split("sample gaussian --warmup 1000000000 --chains 3 --threads 2 --seed 1 --out run"),
              {.folder = path("")});
  wait_until([&] { return has_bytes("run/chain-3.csv", 1); });
  run.send(SIGINT);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("interrupted in warm-up, without draws"));
  EXPECT_EQ(json_file("run/run.json").at("status"), "interrupted");
  cannot("summary run", {"run has no draws", "warm-up"});
}

TEST_F(Stop, KilledOnTheSpot) {
  Started run(split("sample gaussian --dim 2 --draws 10000000 --chains 1 --seed 1 --out run"),
              {.folder = path("")});
  wait_until([&] { return has_bytes("run/chain-1.csv", 50'000); });
  run.send(SIGKILL);
  EXPECT_EQ(run.wait().code, -SIGKILL);
  EXPECT_EQ(json_file("run/run.json").at("status"), "unfinished");
  const Outcome again = onward("summary run");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("x.2"));
  EXPECT_THAT(again.err, HasSubstr("note: the run ended without a word (killed, say"));
  EXPECT_THAT(again.err, HasSubstr("of 10000000 draws a chain"));
  EXPECT_EQ(nlohmann::json::parse(onward("summary run --json --quiet").out).at("status"), "died");
  put("run/run.json", "{\"status\"");
  const Outcome damaged = onward("summary run");
  EXPECT_EQ(damaged.code, 0);
  EXPECT_THAT(damaged.err, HasSubstr("note: run/run.json: not valid JSON"));
}

TEST_F(Stop, TimeLimit) {
  const Outcome outcome = onward(
      "sample gaussian --dim 2 --warmup 10 --thin 100 --draws 10000000 --chains 2 --threads 2 --seed 1"
      " --max-seconds 0.5 --out run --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("stopped at --max-seconds 0.5 after"));
  const auto result = nlohmann::json::parse(outcome.out);
  EXPECT_GT(result.at("draws"), 0);
  EXPECT_LT(result.at("draws"), 10'000'000);
  EXPECT_EQ(json_file("run/run.json").at("status"), "stopped at the time limit");
  EXPECT_EQ(onward("summary run").code, 0);
}

TEST_F(Stop, TimeLimitCutsWarmUpShort) {
  const Outcome outcome =
      onward("sample gaussian --warmup 1000000000 --draws 1000000 --max-seconds 0.5 --seed 1 --out run");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("stopped at --max-seconds 0.5 after"));
  EXPECT_EQ(json_file("run/run.json").at("status"), "stopped at the time limit");
}

TEST_F(Stop, AFullDiskKeepsWhatWasSampled) {
  Started run(split("sample gaussian --dim 20 --draws 100000 --chains 2 --threads 2 --seed 1 --out run"),
              {.folder = path(""), .file_size_limit = 64 * 1024});
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("cannot write run/chain-"));
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  EXPECT_THAT(outcome.err, HasSubstr("fewer draws"));
  EXPECT_EQ(json_file("run/run.json").at("status"), "failed");
  EXPECT_THAT(json_file("run/run.json").at("problem").get<std::string>(), HasSubstr("File too large"));
  expect_whole_lines("run/chain-1.csv");
  expect_whole_lines("run/chain-2.csv");
  const Outcome again = onward("summary run");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("x.20"));
}

TEST_F(Stop, AfterAFullDiskResumeIsSuggested) {
  const std::string words = "sample gaussian --dim 20 --sampler mala --seed 1 --chains 2 --out run";
  ASSERT_EQ(onward(words + " --draws 50 --quiet").code, 0);
  Started run(split("sample --resume --draws 100000 --out run"),
              {.folder = path(""), .file_size_limit = 64 * 1024});
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  EXPECT_THAT(outcome.err, HasSubstr("`onward sample --resume --out run` goes on from the last checkpoint"));
}

TEST_F(Stop, ADiskThatFillsAtTheEndStillShowsTheTable) {
  Started run(split("sample gaussian --dim 2 --draws 30 --chains 2 --seed 1 --out run"),
              {.folder = path(""), .file_size_limit = 8 * 1024});
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("x.2"));
  EXPECT_THAT(outcome.err, HasSubstr("run/draws.png"));
  EXPECT_EQ(json_file("run/run.json").at("status"), "complete");
  EXPECT_EQ(onward("summary run").code, 0);
}

TEST_F(Stop, AFullStdoutIsAnError) {
  ASSERT_GT(onward("models").out.size(), 200u);
  Started run({"models"}, {.folder = path(""), .file_size_limit = 200});
  const Outcome cut = run.wait();
  EXPECT_EQ(cut.code, 1);
  EXPECT_THAT(cut.err, HasSubstr("cannot write the results to stdout"));
}

TEST_F(Stop, AFullStderrDoesNotMatter) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  Started run(split("sample funnel --draws 20 --warmup 20 --seed 1 --out run"),
              {.folder = path(""), .terminal = full});
  ::close(full);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("rhat"));
  EXPECT_TRUE(fs::exists(path("run/draws.png")));
}

TEST_F(Stop, ClosedStandardStreamsDoNotBecomeFilesOfDraws) {
  for (const int closed : {0, 1, 2}) {
    SCOPED_TRACE(closed);
    const std::string out = "run" + std::to_string(closed);
    // Long enough for lines of progress.
    Started run(split("sample funnel --dim 3 --sampler mala --draws 100000000 --warmup 100 --chains 1 "
                      "--thin 100 --seed 1 --max-seconds 2.5 --out " +
                      out),
                {.folder = path(""), .closed = closed});
    run.wait();
    const std::string draws = get(path(out + "/chain-1.csv"));
    EXPECT_TRUE(draws.starts_with("# stan_version_major"));
    EXPECT_THAT(draws, Not(HasSubstr("%")));
    expect_whole_lines(out + "/chain-1.csv");
    EXPECT_EQ(onward("summary " + out).code, 0);
  }
}

TEST_F(Stop, InterruptedWhileTheSamplerIsChosen) {
  int ours = -1, theirs = -1;
  ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, nullptr), 0);
  Started run(split("sample gaussian --dim 3000 --directions frames --seed 1 --out run"),
              {.folder = path(""), .terminal = theirs});
  ::close(theirs);
  std::string shown;
  char bytes[4096];
  bool told = false;
  for (ssize_t n; (n = ::read(ours, bytes, sizeof bytes)) > 0;) {
    shown.append(bytes, static_cast<size_t>(n));
    if (!told && shown.find("choosing a sampler") != std::string::npos) {
      run.send(SIGINT);
      told = true;
    }
  }
  ::close(ours);
  const Outcome outcome = run.wait();
  EXPECT_TRUE(told) << shown;
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(shown, HasSubstr("interrupted while the sampler"));
  EXPECT_TRUE(on_disk().empty());
}

TEST_F(Stop, TimeLimitLeavesNoTimeForPilots) {
  const Outcome outcome = onward(
      "sample gaussian --dim 1000 --directions frames --warmup 10 --seed 1 --max-seconds 0.2 --out run");
  EXPECT_THAT(outcome.err, HasSubstr("sampler: newton-line: no time for pilots"));
  const auto run = json_file("run/run.json");
  EXPECT_EQ(run.at("choice").at("sampler"), "newton-line");
  EXPECT_TRUE(run.at("choice").at("pilots").empty());
  EXPECT_EQ(run.at("status"), "stopped at the time limit");
}

const std::string long_run =
    "sample gaussian --sampler pc-line-fmala --dim 2 --thin 1000 --draws 1000000 --seed 1 --out none "
    "--max-seconds 2.5";

TEST_F(Stop, ProgressInPlainLines) {
  const Outcome outcome = onward(long_run);
  EXPECT_THAT(outcome.err, HasSubstr("%  sampling  acceptance 0."));
  EXPECT_THAT(outcome.err, HasSubstr(" steps/s  "));
  EXPECT_THAT(outcome.err, HasSubstr(" left\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\r")));
}

TEST_F(Stop, ADumbTerminalHasPlainLines) {
  int ours = -1, theirs = -1;
  ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, nullptr), 0);
  const char* const before = std::getenv("TERM");
  const std::string kept = before != nullptr ? before : "";
  ASSERT_EQ(::setenv("TERM", "dumb", 1), 0);
  Started run(split(long_run), {.folder = path(""), .terminal = theirs});
  ASSERT_EQ(before != nullptr ? ::setenv("TERM", kept.c_str(), 1) : ::unsetenv("TERM"), 0);
  ::close(theirs);
  std::string shown;
  char bytes[4096];
  for (ssize_t n; (n = ::read(ours, bytes, sizeof bytes)) > 0;) shown.append(bytes, static_cast<size_t>(n));
  ::close(ours);
  EXPECT_EQ(run.wait().code, 0);
  EXPECT_THAT(shown, HasSubstr("%  "));
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
}

TEST_F(Stop, ProgressBarFitsTheTerminal) {
  for (const std::size_t columns : {100u, 50u, 30u}) {
    int ours = -1, theirs = -1;
    winsize window{};
    window.ws_row = 24;
    window.ws_col = static_cast<unsigned short>(columns);
    ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, &window), 0);
    Started run(split(long_run), {.folder = path(""), .terminal = theirs});
    ::close(theirs);
    std::string shown;
    char bytes[4096];
    for (ssize_t n; (n = ::read(ours, bytes, sizeof bytes)) > 0;) shown.append(bytes, static_cast<size_t>(n));
    ::close(ours);
    EXPECT_EQ(run.wait().code, 0);
    const auto first_end = shown.find("\x1b[K");
    ASSERT_NE(first_end, std::string::npos) << shown;
    EXPECT_EQ(shown.front(), '\r');
    EXPECT_LT(first_end - 1, columns);
    EXPECT_THAT(shown.substr(0, first_end), HasSubstr("% "));
    if (columns == 100) {
      EXPECT_EQ(shown[1], '[');
    }
    if (columns == 30) {  // no room for the bar itself
      EXPECT_NE(shown[1], '[');
    }
    // Words are left out, not cut.
    EXPECT_THAT(shown.substr(0, first_end), EndsWith(" left"));
    EXPECT_EQ(shown.substr(0, first_end).find("acceptance") != std::string::npos, columns == 100);
    EXPECT_THAT(shown, HasSubstr("\r\x1b[K"));  // taken away at the end
  }
}

}  // namespace
}  // namespace onward::testing
