// UM-Bridge servers: what they are asked, and what comes of all that they can answer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <mutex>
#include <thread>

#include "io/scratch.hpp"
#include "onward/model/model.hpp"
#include "onward/simulator/umbridge.hpp"
#include "onward/util/stopped.hpp"
#include "onward/util/waiting.hpp"
#include "test_server.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Reply output(const json& numbers) { return http(json{{"output", numbers}}); }

TEST(UmBridge, IsAskedByTheProtocol) {
  std::vector<Asked> asked;
  std::mutex mutex;
  const TestModel two{
      .inputs = {2, 1}, .outputs = {1, 2}, .jacobian = true, .gradient = true, .hessian = true};
  TestServer server(umbridge_server(two, [&](const Asked& one) {
    const std::lock_guard lock(mutex);
    asked.push_back(one);
    if (one.path == "/Evaluate") return output({{1}, {2, 3}});
    const bool first_output = one.body["outWrt"] == 0;
    if (one.path == "/ApplyJacobian") return output(first_output ? json{10} : json{20, 30});
    const bool first_input = one.body[one.path == "/Gradient" ? "inWrt" : "inWrt1"] == 0;
    return output(first_input ? json{5, 6} : json{7});
  }));
  const auto model = umbridge(server.url(), {.config = {{"level", 3}}});
  EXPECT_THAT(model->facts().inputs, ElementsAre(2, 1));
  EXPECT_THAT(model->facts().outputs, ElementsAre(1, 2));
  EXPECT_TRUE(model->facts().jacobian && model->facts().gradient && model->facts().hessian);

  std::vector<double> out(3), tangent(3), gradient(3);
  const std::vector<double> x{0.5, 1, 1e-300}, v{1, 2, 0}, s{1, 0.25, 4};
  model->evaluate(x, out);
  EXPECT_THAT(out, ElementsAre(1, 2, 3));
  EXPECT_EQ(asked.back().body,
            json::parse(R"({"name":"test","config":{"level":3},"input":[[0.5,1.0],[1e-300]]})"));

  // A block of zeros in v is not asked for; what comes of several inputs is added up.
  asked.clear();
  model->apply_jacobian(x, v, out, tangent);
  EXPECT_THAT(tangent, ElementsAre(10, 20, 30));
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[1].body["outWrt"], 1);
  EXPECT_EQ(asked[1].body["inWrt"], 0);
  EXPECT_EQ(asked[1].body["vec"], json({1.0, 2.0}));

  asked.clear();
  model->apply_transposed(x, s, gradient);
  EXPECT_THAT(gradient, ElementsAre(10, 12, 14));
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[2].body["sens"], json({0.25, 4.0}));

  asked.clear();
  model->apply_hessian(x, s, v, gradient);
  EXPECT_THAT(gradient, ElementsAre(20, 24, 28));  // two outputs, two inputs along which
  ASSERT_EQ(asked.size(), 8U);
  EXPECT_EQ(asked[0].body["vec"], json({1.0, 2.0}));
  EXPECT_EQ(asked[2].body["vec"], json({0.0}));
  EXPECT_EQ(asked[2].body["inWrt2"], 1);
}

/// What a run says whose server answers a question so.
std::string said_of(const Reply& reply, const std::string& path = "/Evaluate", double patience = 0.2) {
  TestServer server([&](const Asked& asked) {
    if (asked.path == path) return reply;
    return umbridge_server({}, [](const Asked&) { return output({{-1.5}}); })(asked);
  });
  try {
    const auto model = umbridge(server.url(), {.timeout = 0.3, .patience = patience});
    double out = 0;
    model->evaluate(std::vector<double>{1, 2}, {&out, 1});
    return std::isnan(out) ? "NaN" : "it was answered";
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  } catch (const std::domain_error& none) {
    return std::string("no density: ") + none.what();
  }
}

TEST(UmBridge, AWrongAnswerIsNamed) {
  EXPECT_EQ(said_of(output({{-1.5}})), "it was answered");
  EXPECT_THAT(said_of({"what?\r\n\r\n"}), HasSubstr("is out of order: it does not speak HTTP"));
  EXPECT_THAT(
      said_of(http(200, "<html>")),
      HasSubstr("out of order: asked for Evaluate, its answer is no JSON object; it begins with '<html>'"));
  EXPECT_THAT(said_of(http(200, "")), HasSubstr("its answer is empty"));
  EXPECT_THAT(said_of(http(200, R"({"output":[[1.5)")), HasSubstr("no JSON object"));
  EXPECT_THAT(said_of(http(200, std::string(1000, '['))), HasSubstr("no JSON object"));
  EXPECT_THAT(said_of(http(json{{"result", 1}})), HasSubstr("has no array \"output\""));
  EXPECT_THAT(said_of(output({{1, 2}})), HasSubstr("\"output\" in its answer has 2 numbers where 1 are due"));
  EXPECT_THAT(said_of(output(json::array())), HasSubstr("has 0 numbers where 1 are due"));
  EXPECT_THAT(said_of(output({{"a"}})), HasSubstr("has string where a number is due"));
  EXPECT_THAT(said_of(http(400, R"({"error":{"type":"InvalidInput","message":"three are due"}})")),
              HasSubstr("error: the UM-Bridge server"));
  EXPECT_THAT(said_of(http(400, R"({"error":{"type":"InvalidInput","message":"three are due"}})")),
              HasSubstr("Evaluate gave status 400, InvalidInput: three are due"));
  EXPECT_THAT(said_of(http(404, "")), HasSubstr("gave status 404"));
}

/// A place that cannot be simulated is one without density.
TEST(UmBridge, AFailedSimulationIsNoError) {
  EXPECT_EQ(said_of(http(200, R"({"output":[[NaN]]})")), "NaN");
  EXPECT_EQ(said_of(http(200, R"({"output":[[null]],"note":"a \"NaN"})")), "NaN");
  EXPECT_EQ(said_of(http(200, R"({"output":[[-Infinity]]})")), "NaN");
  EXPECT_THAT(said_of(http(500, "Internal Server Error")),
              HasSubstr("no density: Evaluate gave status 500, Internal Server Error"));
  EXPECT_THAT(said_of(http(500, R"({"error":{"type":"Diverged","message":"at t = 3"}})")),
              HasSubstr("no density: Evaluate gave status 500, Diverged: at t = 3"));
  EXPECT_THAT(said_of(http(200, R"({"error":{"type":"Diverged","message":"at t = 3"}})")),
              HasSubstr("no density"));
}

TEST(UmBridge, AServerThatIsGoneIsAnErrorAfterAWhile) {
  EXPECT_THAT(said_of({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", true}),
              HasSubstr("has not answered for 0.2 s (it closed the connection in the middle of an answer)"));
  EXPECT_THAT(said_of(http(503, "busy")), HasSubstr("it gave status 503"));
  EXPECT_THAT(said_of({"", false, 60}, "/Evaluate", 20),
              HasSubstr("gave no answer to Evaluate within 0.3 s, twice"));
}

TEST(UmBridge, IntroductionsAreChecked) {
  EXPECT_THAT(said_of(http(404, ""), "/Info"), HasSubstr("does not answer as a UM-Bridge server does"));
  EXPECT_THAT(said_of(http(200, "{}"), "/Info"), HasSubstr("its Info has no \"protocolVersion\""));
  EXPECT_THAT(said_of(http(json{{"protocolVersion", 0.9}, {"models", {"a"}}}), "/Info"),
              HasSubstr("speaks version 0.9 of UM-Bridge, and version 1.0 is spoken here"));
  EXPECT_THAT(said_of(http(json{{"protocolVersion", 1.0}, {"models", {"a", "b"}}}), "/Info"),
              HasSubstr("has several models: say by `model` which one. Models: a, b"));
  EXPECT_THAT(said_of(http(json{{"inputSizes", {-1}}}), "/InputSizes"),
              HasSubstr("are not an array \"inputSizes\""));
  EXPECT_THAT(said_of(http(json{{"outputSizes", 3}}), "/OutputSizes"),
              HasSubstr("are not an array \"outputSizes\""));
  EXPECT_THAT(said_of(http(json{{"support", {{"Gradient", true}}}}), "/ModelInfo"),
              HasSubstr("offers no Evaluate"));
  EXPECT_THAT(said_of({"", false, 60}, "/Info"), HasSubstr("asked for Info, no answer within 0.3 s"));
  TestServer server(umbridge_server({}, {}));
  EXPECT_THAT(error_of([&] { umbridge(server.url(), {.model = "tset"}); }),
              HasSubstr("has no model 'tset'. Did you mean test? Models: test"));
  EXPECT_THAT(error_of([&] { umbridge(server.url(), {.timeout = 0}); }), HasSubstr("`timeout` is 0"));
  std::uint16_t port;
  {
    port = TestServer([](const Asked&) { return Reply{}; }).port();
  }
  EXPECT_THAT(error_of([&] { umbridge("localhost:" + std::to_string(port)); }),
              HasSubstr("there is no server at"));
}

TEST(UmBridge, AServerThatComesBackIsFoundAgain) {
  const auto answers = umbridge_server({}, [](const Asked&) { return output({{-2}}); });
  auto server = std::make_unique<TestServer>(answers);
  const std::uint16_t port = server->port();
  const auto model = umbridge(server->url(), {.patience = 60});
  double out = 0;
  const std::vector<double> x{1, 2};
  model->evaluate(x, {&out, 1});
  server.reset();
  News heard;
  const Waiting waiting(nullptr, &heard);
  auto later = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server = std::make_unique<TestServer>(answers, port);
  });
  out = 0;
  model->evaluate(x, {&out, 1});
  later.get();
  EXPECT_EQ(out, -2);
  const auto news = heard.take();
  ASSERT_EQ(news.size(), 2U);
  EXPECT_THAT(news[0], HasSubstr("does not answer"));
  EXPECT_THAT(news[0], HasSubstr("trying again for 60 s"));
  EXPECT_THAT(news[1], HasSubstr("answers again after"));
}

TEST(UmBridge, SeveralServersShareTheConnections) {
  std::atomic<int> first_asked{0}, second_asked{0};
  auto first = std::make_unique<TestServer>(umbridge_server({}, [&](const Asked&) {
    ++first_asked;
    return output({{-1}});
  }));
  TestServer second(umbridge_server({}, [&](const Asked&) {
    ++second_asked;
    return output({{-1}});
  }));
  const auto model = umbridge(first->url() + "," + second.url());
  std::vector<std::unique_ptr<Simulator>> chains;
  double out = 0;
  const std::vector<double> x{1, 2};
  for (int c = 0; c < 4; ++c) {
    chains.push_back(model->clone());
    chains.back()->evaluate(x, {&out, 1});
  }
  EXPECT_EQ(first_asked, 2);
  EXPECT_EQ(second_asked, 2);
  first.reset();  // the other one takes its work over
  for (auto& chain : chains) chain->evaluate(x, {&out, 1});
  EXPECT_EQ(second_asked, 6);

  TestServer other(umbridge_server({.inputs = {3}}, {}));
  EXPECT_THAT(error_of([&] { umbridge(second.url() + "," + other.url()); }),
              HasSubstr("have different models"));
}

TEST(UmBridge, AStopEndsWaiting) {
  TestServer server(umbridge_server({}, [](const Asked&) { return Reply{"", false, 600}; }));
  const auto model = umbridge(server.url());
  std::atomic<bool> stop{false};
  auto waiting = std::async(std::launch::async, [&] {
    const Waiting here(&stop);
    double out = 0;
    model->evaluate(std::vector<double>{1, 2}, {&out, 1});
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  stop = true;
  EXPECT_THROW(waiting.get(), Stopped);
}

TEST(UmBridge, OneThatCannotGiveSecondDerivativesIsNotAskedForThem) {
  std::atomic<int> hessians{0};
  TestServer server(umbridge_server({.gradient = true, .hessian = true}, [&](const Asked& asked) {
    const double x = asked.body["input"][0][0], y = asked.body["input"][0][1];
    if (asked.path == "/Evaluate") return output({{-0.5 * (x * x + y * y)}});
    if (asked.path == "/Gradient") return output({-x, -y});
    ++hessians;
    return http(500, R"({"error":{"type":"InvalidOutput","message":"Output vector has invalid length!"}})");
  }));
  Model model = build({"umbridge:" + server.url()});
  EXPECT_EQ(model.spec.options["url"], server.url());
  const Jet jet =
      model.target.jet(std::vector<double>{0.3, 0.4}, std::vector<double>{0.6, 0.8}, Order::curvature);
  EXPECT_NEAR(jet.slope, -0.5, 1e-12);
  EXPECT_NEAR(jet.curvature, -1, 1e-6);
  EXPECT_EQ(hessians, 1);
}

}  // namespace
}  // namespace onward::testing
