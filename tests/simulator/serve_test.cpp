// Our models behind the protocol, read back by our client and by requests that are written out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "io/scratch.hpp"
#include "onward/model/model.hpp"
#include "onward/simulator/serve.hpp"
#include "onward/simulator/umbridge.hpp"
#include "onward/target/callable.hpp"
#include "src/simulator/http.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Served {
 public:
  explicit Served(const AnyTarget& target) : server_(target, {.name = "mine"}) {
    thread_ = std::thread([this] { server_.run(stop_); });
  }
  ~Served() {
    stop_ = true;
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  std::pair<int, json> ask(const std::string& path, const json& body) const {
    detail::HttpClient client(detail::parse_url(url()));
    const auto answer = client.ask("POST", path, body.dump(), {});
    return {answer.status, json::parse(answer.body)};
  }

 private:
  std::atomic<bool> stop_{false};
  ModelServer server_;
  std::thread thread_;
};

AnyTarget bent() {
  return target(3, [](const auto& t) {
    using std::exp;
    return -0.5 * t[0] * t[0] - exp(t[1] * t[0]) - t[2] * t[2] * t[2] * t[2] + t[1] * t[2] - t[1] * t[1];
  });
}

TEST(Serve, GivesTheBitsOfTheTarget) {
  const Served served(bent());
  AnyTarget target = bent();
  Model model = build({"umbridge", {{"url", served.url()}}});
  const std::vector<double> x{0.3, -1.0 / 3, 1.7}, v{0.48, 0.6, 0.64};
  std::vector<double> ours(3), theirs(3);
  const Jet a = target.jet(x, v, Order::curvature), b = model.target.jet(x, v, Order::curvature);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.slope, b.slope);
  EXPECT_NEAR(a.curvature, b.curvature, 1e-12);
  ASSERT_TRUE(model.target.has_gradient());
  EXPECT_EQ(target.gradient(x, ours), model.target.gradient(x, theirs));
  EXPECT_EQ(ours, theirs);
}

TEST(Serve, HessiansAreThoseOfTheTarget) {
  const Served served(
      target(2, [](const auto& t) { return -t[0] * t[0] * t[1] - 3.0 * t[1] * t[1] + t[0] * t[1]; }));
  const auto [status, body] = served.ask("/ApplyHessian", {{"name", "mine"},
                                                           {"outWrt", 0},
                                                           {"inWrt1", 0},
                                                           {"inWrt2", 0},
                                                           {"input", {{0.5, 2.0}}},
                                                           {"sens", {2.0}},
                                                           {"vec", {100.0, -300.0}},
                                                           {"config", json::object()}});
  EXPECT_EQ(status, 200);
  // [[-2 y, 1 - 2 x], [1 - 2 x, -6]] = [[-4, 0], [0, -6]]
  EXPECT_NEAR(body["output"][0].get<double>(), 2 * -400, 1e-9);
  EXPECT_NEAR(body["output"][1].get<double>(), 2 * 1800, 1e-9);
}

TEST(Serve, SamplesAsTheTargetItself) {
  const Served served(target(2, [](const auto& t) { return -0.5 * (t[0] * t[0] + 0.25 * t[1] * t[1]); }));
  const onward::Run run =
      sample(build({"umbridge", {{"url", served.url()}}}),
             {.sampler = "newton-line", .warmup = 200, .draws = 400, .thin = 4, .chains = 2, .seed = 1});
  const auto summary = run.summary();
  EXPECT_NEAR(summary[0].mean, 0, 5 * summary[0].mcse_mean);
  EXPECT_NEAR(summary[1].mean, 0, 5 * summary[1].mcse_mean);
  EXPECT_NEAR(summary[1].sd, 2, 0.3);
}

TEST(Serve, RequestsThatMakeNoSenseAreRefused) {
  const Served served(bent());
  const auto refused = [&](const std::string& path, const json& body, int status, const std::string& words) {
    const auto [code, answer] = served.ask(path, body);
    EXPECT_EQ(code, status) << path;
    EXPECT_THAT(
        answer["error"]["type"].get<std::string>() + ": " + answer["error"]["message"].get<std::string>(),
        HasSubstr(words));
  };
  refused("/Nothing", json::object(), 404, "UnknownRequest: nothing is at /Nothing");
  refused("/Evaluate", json::array(), 400, "InvalidInput: the request is no JSON object");
  refused("/Evaluate", {{"name", "yours"}}, 400, "ModelNotFound: the only model here is mine");
  refused("/Evaluate", {{"name", "mine"}}, 400, "\"input\" must be a list with one list of 3 numbers");
  refused("/Evaluate", {{"name", "mine"}, {"input", {{1, 2}}}}, 400, "\"input\" must be");
  refused("/Evaluate", {{"name", "mine"}, {"input", {{1, 2, "a"}}}}, 400, "\"input\" must be");
  refused("/Gradient", {{"name", "mine"}, {"input", {{1, 2, 3}}}, {"sens", {1, 2}}}, 400, "list of 1 number");
  refused("/ApplyJacobian", {{"name", "mine"}, {"input", {{1, 2, 3}}}}, 400,
          "\"vec\" must be a list of 3 numbers");
}

TEST(Serve, APlaceWithoutDensityIsOneForTheClientToo) {
  const Served served(target(1, [](const auto& t) {
    using T = scalar_of<decltype(t)>;
    return t[0] > 0 ? T(-t[0]) : T(-INFINITY);
  }));
  AnyTarget target = build({"umbridge", {{"url", served.url()}}}).target;
  EXPECT_EQ(target.value(std::vector<double>{2}), -2);
  EXPECT_EQ(target.value(std::vector<double>{-2}), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(target.counts().threw, 1U);
  EXPECT_THAT(target.counts().first_message, HasSubstr("NoDensity"));
}

TEST(Serve, APortThatIsTakenIsNamed) {
  const ModelServer server(bent());
  EXPECT_THAT(error_of([&] { ModelServer(bent(), {.port = server.port()}); }),
              HasSubstr("cannot be listened on: Address already in use; take another one"));
}

}  // namespace
}  // namespace onward::testing
