// Programs as simulators: those that answer, and those that crash, hang or talk.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>
#include <future>
#include <thread>

#include "io/scratch.hpp"
#include "onward/simulator/program.hpp"
#include "onward/util/stopped.hpp"
#include "onward/util/waiting.hpp"

namespace onward::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProgramTest : public Scratch {
 protected:
  /// A program in Python whose function answer(ask) gives what it prints.
  std::string script(const std::string& body, const std::string& loop = "") const {
    const auto file =
        put("simulate", "#!/usr/bin/env python3\nimport json, os, sys, time\n" + body +
                            (loop.empty() ? "\nfor line in sys.stdin:\n"
                                            "  print(json.dumps(answer(json.loads(line))), flush=True)\n"
                                          : loop));
    ::chmod(file.c_str(), 0755);
    return "'" + file.string() + "'";
  }
  /// One with two inputs, whose answer to a place is the body, with x as its numbers.
  std::string two_inputs(const std::string& body, const std::string& about = "'outputs': 1") const {
    return script("def answer(ask):\n  if ask['ask'] == 'model': return {'inputs': 2, " + about +
                  "}\n  x = ask['input']\n" + body);
  }

  /// What comes of asking for (1, 2).
  static std::string said_by(Simulator& model) {
    double out = 0;
    try {
      model.evaluate(std::vector<double>{1, 2}, {&out, 1});
      return std::isnan(out) ? "NaN" : "it answered";
    } catch (const Error& error) {
      return std::string("error: ") + error.what();
    } catch (const std::domain_error& none) {
      return std::string("no density: ") + none.what();
    }
  }
};

TEST(CommandWords, AreSplitWithoutAShell) {
  EXPECT_THAT(command_words("./simulate  --fast"), ElementsAre("./simulate", "--fast"));
  EXPECT_THAT(command_words("'./a b' \"c d\"e '' $HOME;ls"), ElementsAre("./a b", "c de", "", "$HOME;ls"));
  EXPECT_THAT(error_of([] { command_words("./a 'b"); }),
              HasSubstr("opens a quotation that it does not close"));
  EXPECT_THAT(error_of([] { command_words("  "); }), HasSubstr("names no program"));
}

TEST_F(ProgramTest, AnswersInLines) {
  const auto model = program(script(R"(
def answer(ask):
  if ask["ask"] == "model": return {"inputs": ["a", "b"], "outputs": 2, "jacobian": True, "gradient": True}
  a, b = ask["input"]
  out = [a * b, a + b]
  if ask["ask"] == "evaluate": return {"output": out}
  if ask["ask"] == "jacobian":
    u, v = ask["vector"]
    return {"output": out, "tangent": [u * b + a * v, u + v]}
  s, t = ask["sensitivity"]
  return {"gradient": [s * b + t, s * a + t]}
)"));
  const auto& facts = model->facts();
  EXPECT_THAT(facts.input_names, ElementsAre("a", "b"));
  EXPECT_EQ(facts.output_count(), 2U);
  EXPECT_TRUE(facts.jacobian && facts.outputs_beside && facts.gradient);
  const std::vector<double> x{1.0 / 3, 3}, v{1, 10};
  std::vector<double> out(2), tangent(2), gradient(2);
  const auto other = model->clone();
  for (Simulator* one : {model.get(), other.get()}) {
    one->evaluate(x, out);
    EXPECT_THAT(out, ElementsAre(1.0, 1.0 / 3 + 3));  // every digit there and back
    one->apply_jacobian(x, v, out, tangent);
    EXPECT_THAT(tangent, ElementsAre(DoubleEq(3 + 10.0 / 3), 11));
    one->apply_transposed(x, std::vector<double>{1, 2}, gradient);
    EXPECT_THAT(gradient, ElementsAre(5, 1.0 / 3 + 2));
  }
}

TEST_F(ProgramTest, OneThatAnswersOnceIsStartedForEachPlace) {
  const auto model = program(script(R"(
def answer(ask):
  if ask["ask"] == "model": return {"inputs": 2, "outputs": 1}
  return {"output": [sum(ask["input"])]}
)",
                                    "\nprint(json.dumps(answer(json.loads(sys.stdin.readline()))))\n"));
  News heard;
  const Waiting waiting(nullptr, &heard);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(said_by(*model), "it answered");
  EXPECT_TRUE(heard.take().empty());
}

TEST_F(ProgramTest, ACrashIsAPlaceWithoutDensity) {
  const auto model = program(two_inputs("  if os.path.exists('" + path("crashes").string() + R"('):
    print('no such grid', file=sys.stderr)
    sys.exit(1)
  return {'output': [1]}
)"));
  EXPECT_EQ(said_by(*model), "it answered");
  put("crashes", "");
  News heard;
  const Waiting waiting(nullptr, &heard);
  EXPECT_EQ(said_by(*model),
            "no density: the program ended before it answered: it exited with code 1: no such grid");
  std::filesystem::remove(path("crashes"));
  EXPECT_EQ(said_by(*model), "it answered");
  const auto news = heard.take();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_THAT(news[0],
              HasSubstr("it exited with code 1: no such grid; the place counts as one without density"));
}

TEST_F(ProgramTest, OneThatIsKilledSaysSo) {
  const auto model = program(two_inputs("  os.kill(os.getpid(), 9)\n"));
  EXPECT_THAT(said_by(*model), HasSubstr("it was ended by signal 9"));
}

TEST_F(ProgramTest, AHangIsAPlaceWithoutDensityUntilItIsTheRule) {
  const auto model = program(two_inputs("  time.sleep(600)\n"), {.timeout = 2});
  EXPECT_THAT(said_by(*model), HasSubstr("no density: the program gave no answer within 2 s"));
  EXPECT_THAT(said_by(*model), HasSubstr("no density"));
  EXPECT_THAT(said_by(*model), HasSubstr("error: the program"));
}

TEST_F(ProgramTest, WhatIsNoAnswerIsNamed) {
  const auto said = [&](const std::string& body) {
    const auto model = program(two_inputs(body));
    return said_by(*model);
  };
  EXPECT_THAT(said("  print('starting up')\n  return {'output': [1]}\n"),
              HasSubstr("out of order: its answer is no JSON object; it begins with 'starting up'"));
  EXPECT_THAT(said("  return {'output': [1, 2]}\n"), HasSubstr("has 2 numbers where 1 are due"));
  EXPECT_THAT(said("  return {'out': [1]}\n"), HasSubstr("has no array \"output\""));
  EXPECT_EQ(said("  return {'output': [float('nan')]}\n"), "NaN");
  EXPECT_EQ(said("  return {'error': 'it diverged'}\n"), "no density: the program says: it diverged");
}

TEST_F(ProgramTest, MuchOnStderrDoesNotBlockIt) {
  const auto model =
      program(two_inputs("  print('x' * 500000, file=sys.stderr)\n  return {'output': [1]}\n"));
  EXPECT_EQ(said_by(*model), "it answered");
}

TEST_F(ProgramTest, IntroductionsAreChecked) {
  const auto refused = [](const std::string& command, double timeout = 20) {
    return error_of([&] { program(command, {.timeout = timeout}); });
  };
  EXPECT_THAT(refused("/no/such/program"), HasSubstr("cannot be started: No such file"));
  EXPECT_THAT(refused(script("print('no grid', file=sys.stderr); sys.exit(1)", "\n")),
              HasSubstr("asked what it is by {\"ask\":\"model\"}, and it exited with code 1: no grid"));
  EXPECT_THAT(refused(script("", "\nprint('hello')\nsys.stdin.read()\n")),
              HasSubstr("it begins with 'hello'"));
  EXPECT_THAT(refused(script("def answer(ask): return {'outputs': 1}\n")), HasSubstr("has no \"inputs\""));
  EXPECT_THAT(refused(script("def answer(ask): return {'inputs': ['a', 1], 'outputs': 1}\n")),
              HasSubstr("has no \"inputs\""));
  EXPECT_THAT(refused(script("def answer(ask): return {'inputs': 1, 'outputs': 0}\n")),
              HasSubstr("no \"outputs\""));
  EXPECT_THAT(refused(script("def answer(ask): return {'error': 'no licence'}\n")),
              HasSubstr("it says: no licence"));
  EXPECT_THAT(refused(script("", "\ntime.sleep(600)\n"), 0.2), HasSubstr("no answer within 0.2 s"));
  EXPECT_THAT(refused("true", 0), HasSubstr("`timeout` is 0"));
}

TEST_F(ProgramTest, AStopEndsWaitingAndTheProgram) {
  const auto model = program(two_inputs(R"(
  with open(')" + path("pid").string() + R"(.new', 'w') as f: f.write(str(os.getpid()))
  os.rename(')" + path("pid").string() + R"(.new', ')" +
                                        path("pid").string() + R"(')
  time.sleep(600)
)"));
  std::atomic<bool> stop{false};
  const auto chain = model->clone();
  auto waiting = std::async(std::launch::async, [&] {
    const Waiting here(&stop);
    said_by(*chain);
  });
  while (!std::filesystem::exists(path("pid"))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  stop = true;
  EXPECT_THROW(waiting.get(), Stopped);
  const pid_t pid = std::stoi(get(path("pid")));
  EXPECT_EQ(::kill(pid, 0), -1) << "the program is still there";
}

}  // namespace
}  // namespace onward::testing
