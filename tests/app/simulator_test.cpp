// Simulators outside the process, from the command line: UM-Bridge servers, programs, and `onward serve`.

#include <sys/stat.h>

#include <atomic>
#include <cmath>

#include "program.hpp"
#include "simulator/test_server.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class SimulatorTest : public Program {
 protected:
  /// A log density of two normals with sds 1 and 2.
  static Reply normals(const Asked& asked) {
    const double x = asked.body["input"][0][0], y = asked.body["input"][0][1];
    if (asked.path == "/Evaluate") return http(json{{"output", {{-0.5 * (x * x + 0.25 * y * y)}}}});
    const double u = asked.body["vec"][0], v = asked.body["vec"][1];
    return http(json{{"output", {-x * u - 0.25 * y * v}}});
  }
  /// A decay curve at five times; data of it with a = 2 and k = 0.5 are in data.json.
  void put_decay(const std::string& quirk = "") const {
    const auto file = put("decay", R"(#!/usr/bin/env python3
import json, math, sys, time
times = [0, 1, 2, 3, 4]
for line in sys.stdin:
    ask = json.loads(line)
    if ask["ask"] == "model":
        answer = {"inputs": ["a", "k"], "outputs": 5, "jacobian": True, "gradient": False}
    else:
        a, k = ask["input"]
)" + quirk + R"(
        answer = {"output": [a * math.exp(-k * t) for t in times]}
        if ask["ask"] == "jacobian":
            u, v = ask["vector"]
            answer["tangent"] = [(u - a * t * v) * math.exp(-k * t) for t in times]
    print(json.dumps(answer), flush=True)
)");
    ::chmod(file.c_str(), 0755);
    put("data.json", "[2.05, 1.18, 0.76, 0.42, 0.29]");
  }

  Words decay_words(const Words& more) const {
    Words words{"sample",    "program:./decay",
                "--data",    "data.json",
                "--noise",   "normal:sigma",
                "--prior",   "k ~ lognormal(-1, 1); a ~ normal(0, 5)",
                "--prior",   "sigma ~ half_normal(1)",
                "--sampler", "newton-line",
                "--seed",    "4",
                "--chains",  "2",
                "--thin",    "3",
                "--warmup",  "600"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(SimulatorTest, AProgramWithDataNoiseAndPriors) {
  put_decay();
  const Outcome run = onward(decay_words({"--draws", "500", "--out", "run", "--json"}));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("./decay: 2 inputs, 5 outputs, 5 data; slopes by its Jacobian"));
  const json result = json::parse(run.out);
  ASSERT_EQ(result["parameters"].size(), 3U);
  EXPECT_EQ(result["parameters"][0]["name"], "a");  // by name, in the program's order
  EXPECT_NEAR(result["parameters"][0]["mean"], 2, 0.3);
  EXPECT_NEAR(result["parameters"][1]["mean"], 0.5, 0.15);
  const json spec = json_file("run/run.json")["model"];
  EXPECT_EQ(spec["name"], "program");
  EXPECT_EQ(spec["command"], "./decay");
  EXPECT_TRUE(spec["files"].contains("data.json"));
}

TEST_F(SimulatorTest, AnInterruptedRunGoesOnToTheSameDraws) {
  put_decay("        time.sleep(0.001)\n");
  ASSERT_EQ(onward(decay_words({"--draws", "400", "--out", "whole", "--quiet"})).code, 0);
  {
    Started started(decay_words({"--draws", "400", "--out", "cut", "--quiet", "--checkpoint-seconds", "0.2"}),
                    {.folder = path("")});
    wait_until([&] {
      return std::filesystem::exists(path("cut/chain-1.csv")) &&
             std::filesystem::file_size(path("cut/chain-1.csv")) > 3000;
    });
    started.send(SIGINT);
    EXPECT_EQ(started.wait().code, 130);
  }
  const Outcome resumed = onward("sample --resume --out cut --quiet");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  for (const std::string chain : {"chain-1.csv", "chain-2.csv"})
    EXPECT_EQ(get(path("cut/" + chain)), get(path("whole/" + chain)));
}

TEST_F(SimulatorTest, CrashesAreCountedAndShown) {
  put_decay("        if k > 1.5: sys.exit('the mesh is too coarse')\n");
  const Outcome run = onward(decay_words({"--draws", "200", "--out", "none", "--no-check"}));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err,
              HasSubstr("because the model said so (the program ended before it answered: it exited with "
                        "code 1: the mesh is too coarse)"));
}

TEST_F(SimulatorTest, ATangentThatIsWrongIsNamed) {
  put_decay("        if ask['ask'] == 'jacobian': ask['vector'][1] *= 1.2\n");
  refuses(1, decay_words({"--draws", "10", "--out", "none"}),
          {"the model's slope along k is", "but differences of its values give", "--no-check"});
}

TEST_F(SimulatorTest, WhatDoesNotFitIsNamed) {
  put_decay();
  const auto refused = [&](const Words& words, const Words& pieces) {
    Words all{"sample", "program:./decay", "--out", "none"};
    all.insert(all.end(), words.begin(), words.end());
    refuses(2, all, pieces);
  };
  refused({}, {"./decay has 5 outputs: give --data with as many numbers"});
  put("short.json", "[1, 2]");
  refused({"--data", "short.json"}, {"--data has 2 numbers, and ./decay has 5 outputs"});
  refused({"--data", "data.json"}, {"--data need --noise"});
  refused({"--data", "data.json", "--noise", "normal:0.1"}, {"the inputs need a --prior"});
  refused({"--data", "data.json", "--noise", "normal:-1", "--prior", "normal(0, 1)"}, {"-1 is not above 0"});
  refused({"--data", "data.json", "--noise", "uniform:1", "--prior", "normal(0, 1)"},
          {"there is no noise 'uniform'"});
  refused({"--data", "data.json", "--noise", "normal:sigma", "--prior", "normal(0, 1)"},
          {"has the standard deviation sigma, which has no --prior"});
  refused({"--data", "data.json", "--noise", "normal:s", "--prior", "s ~ normal(0, 1); a ~ flat; k ~ flat"},
          {"lets the noise's standard deviation be below 0"});
  refused({"--data", "data.json", "--noise", "normal:1", "--prior", "a ~ flat"},
          {"the input k of ./decay has no --prior"});
  refused({"--data", "data.json", "--noise", "normal:1", "--prior", "a ~ flat; k ~ flat; kk ~ flat"},
          {"there is a --prior of kk, which ./decay does not have"});
  refused({"--noise", "normal:1"}, {"--noise is around data"});
  put("problem.json", R"({"data": [1, 2, 3, 4, 5], "nois": "normal:1"})");
  refused({"--problem", "problem.json"}, {"has a field 'nois' that is not known. Did you mean noise?"});
}

TEST_F(SimulatorTest, AProblemInOneFile) {
  put_decay();
  put("problem.json", R"~({"data": [2.05, 1.18, 0.76, 0.42, 0.29], "noise": "student_t:4:0.1",
                          "prior": {"a": "normal(0, 5)", "k": "lognormal(-1, 1)"
}
})~");
  const Outcome run = onward(
      "sample program:./decay --problem problem.json --sampler newton-line --draws 100 --thin 2 "
      "--warmup 300 --seed 2 --json --out run");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NEAR(json::parse(run.out)["parameters"][0]["mean"], 2, 0.4);
  const Outcome again = onward("sample --from run --out other --json");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["parameters"], json::parse(run.out)["parameters"]);
}

TEST_F(SimulatorTest, AServerOfALogDensity) {
  TestServer server(umbridge_server({.jacobian = true}, normals));
  const Outcome run =
      onward("sample umbridge:" + server.url() +
             " --sampler newton-line --draws 400 --thin 4 --warmup 400 --seed 1 --json --out none");
  ASSERT_EQ(run.code, 0) << run.err;
  const json result = json::parse(run.out);
  EXPECT_EQ(result["parameters"][1]["name"], "theta.2");
  EXPECT_NEAR(result["parameters"][1]["sd"], 2, 0.3);
}

TEST_F(SimulatorTest, CtrlCEndsARunWhoseServerHangs) {
  std::atomic<int> asked{0};
  std::atomic<bool> hangs{false};
  TestServer server(umbridge_server({}, [&](const Asked& one) {
    Reply reply = normals(one);
    if (++asked > 200) {
      hangs = true;
      reply.seconds = 600;
    }
    return reply;
  }));
  Started started({"sample", "umbridge:" + server.url(), "--sampler", "newton-line", "--timeout", "600",
                   "--out", "run", "--chains", "2"},
                  {.folder = path("")});
  wait_until([&] { return hangs.load(); });
  started.send(SIGINT);
  const Outcome outcome = started.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("onward sample --resume --out run"));
}

TEST_F(SimulatorTest, AServerThatGoesAwayIsToldOfAndTheRunCanGoOn) {
  auto answers = umbridge_server({.jacobian = true}, normals);
  std::atomic<int> asked{0};
  const auto counted = [&](const Asked& one) {
    ++asked;
    return answers(one);
  };
  auto server = std::make_unique<TestServer>(counted);
  const std::string words =
      " --sampler newton-line --draws 2000 --thin 5 --warmup 400 --seed 3 --chains 1 --patience 0.3";
  Started started(split("sample umbridge:" + server->url() + words + " --out cut --checkpoint-seconds 0.05"),
                  {.folder = path("")});
  wait_until([&] {
    return std::filesystem::exists(path("cut/chain-1.csv")) &&
           std::filesystem::file_size(path("cut/chain-1.csv")) > 20'000;
  });
  const std::uint16_t port = server->port();
  server.reset();
  const Outcome gone = started.wait();
  EXPECT_EQ(gone.code, 1);
  EXPECT_THAT(gone.err, HasSubstr("does not answer"));
  EXPECT_THAT(gone.err, HasSubstr("has not answered for 0.3 s"));
  EXPECT_THAT(gone.err, HasSubstr("goes on from the last checkpoint"));
  server = std::make_unique<TestServer>(counted, port);
  ASSERT_EQ(onward("sample --resume --out cut --quiet").code, 0);
  ASSERT_EQ(onward("sample umbridge:" + server->url() + words + " --out whole --quiet").code, 0);
  EXPECT_EQ(get(path("cut/chain-1.csv")), get(path("whole/chain-1.csv")));
}

TEST_F(SimulatorTest, ServedModelsAreSampled) {
  Started server({"serve", "eight-schools", "--port", "0"}, {.folder = path("")});
  wait_until([&] { return server.out_so_far().find("http://") != std::string::npos; });
  const std::string said = server.out_so_far();
  const std::string url = said.substr(said.find("http://"), said.find('\n') - said.find("http://"));
  const Outcome there = onward("evaluate umbridge:" + url + " --seed 5 --json --order 1");
  const Outcome here = onward("evaluate eight-schools --seed 5 --json --order 1");
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(there.out, here.out);
  const Outcome run =
      onward("sample umbridge:" + url + " --sampler nuts --draws 50 --warmup 50 --seed 1 --out none");
  EXPECT_EQ(run.code, 0) << run.err;
  server.send(SIGINT);
  EXPECT_EQ(server.wait().code, 0);
}

TEST_F(SimulatorTest, AddressesAndPortsThatAreNone) {
  wrong_usage("sample umbridge:https://a --out none", {"https is not spoken here"});
  wrong_usage("sample umbridge: --out none", {"--url is missing"});
  wrong_usage("serve funnel --port 70000", {"--port 70000"});
  wrong_usage("sample program: --out none", {"--command is missing"});
  cannot("sample program:./none --out none", {"the program ./none cannot be started: No such file"});
}

}  // namespace
}  // namespace onward::testing
