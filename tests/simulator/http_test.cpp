// HTTP as it comes from servers of all kinds, well and badly behaved.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "io/scratch.hpp"
#include "onward/util/stopped.hpp"
#include "src/simulator/http.hpp"
#include "test_server.hpp"

namespace onward::testing {
namespace {

using detail::HttpClient;
using detail::parse_url;
using detail::WireProblem;
using ::testing::HasSubstr;

TEST(HttpUrl, IsTakenApart) {
  const auto url = parse_url("http://sim.example.org:4242/models/a/");
  EXPECT_EQ(url.host, "sim.example.org");
  EXPECT_EQ(url.port, "4242");
  EXPECT_EQ(url.path, "/models/a");
  EXPECT_EQ(parse_url("localhost").port, "80");
  EXPECT_EQ(parse_url("localhost:1").host, "localhost");
  EXPECT_EQ(parse_url("http://[::1]:90").host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:90").port, "90");
  EXPECT_EQ(parse_url("http://[::1]:90").authority(), "[::1]:90");
}

TEST(HttpUrl, WhatIsNoneIsNamed) {
  EXPECT_THAT(error_of([] { parse_url("https://a"); }), HasSubstr("https is not spoken here"));
  EXPECT_THAT(error_of([] { parse_url("ftp://a"); }), HasSubstr("must begin with http://"));
  EXPECT_THAT(error_of([] { parse_url("http://a:x"); }), HasSubstr("'x' is no port"));
  EXPECT_THAT(error_of([] { parse_url("http://a:70000"); }), HasSubstr("'70000' is no port"));
  EXPECT_THAT(error_of([] { parse_url("http://:80"); }), HasSubstr("names no host"));
  EXPECT_THAT(error_of([] { parse_url("http://a b"); }), HasSubstr("a character that no address has"));
}

detail::HttpAnswer ask(HttpClient& client, double seconds = 20) {
  return client.ask("POST", "/x", "{}", {seconds});
}

/// Which problem a server that sends these bytes gives, and its words.
std::pair<WireProblem::Kind, std::string> problem_of(const Reply& reply, double seconds = 20) {
  TestServer server([&](const Asked&) { return reply; });
  HttpClient client(parse_url(server.url()));
  try {
    ask(client, seconds);
  } catch (const WireProblem& problem) {
    return {problem.kind, problem.what()};
  }
  return {WireProblem::Kind::refused, "it was answered"};
}

TEST(Http, AConnectionIsKept) {
  TestServer server([](const Asked& asked) { return http(200, asked.path); });
  HttpClient client(parse_url(server.url() + "/below"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(client).body, "/below/x");
  EXPECT_EQ(server.connections(), 1);
}

TEST(Http, OneThatTheServerClosedIsOpenedAgain) {
  TestServer server(
      [](const Asked&) { return http(200, "yes", true); });  // without a word of it in the header
  HttpClient client(parse_url(server.url()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(client).body, "yes");
  EXPECT_EQ(server.connections(), 5);
}

TEST(Http, BodiesInChunksAndWithoutALength) {
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n6;x=y\r\n of it\r\n0\r\nA: "
      "b\r\n\r\n";
  const std::string endless = "HTTP/1.0 200 OK\r\n\r\nuntil the end";
  TestServer first([&](const Asked&) { return Reply{chunked}; });
  HttpClient client(parse_url(first.url()));
  EXPECT_EQ(ask(client).body, "half of it");
  EXPECT_EQ(ask(client).body, "half of it");
  EXPECT_EQ(first.connections(), 1);
  TestServer second([&](const Asked&) { return Reply{endless, true}; });
  HttpClient other(parse_url(second.url()));
  EXPECT_EQ(ask(other).body, "until the end");
  TestServer third(
      [&](const Asked&) { return Reply{"HTTP/1.1 100 Continue\r\n\r\n" + http(201, "a").bytes}; });
  HttpClient last(parse_url(third.url()));
  EXPECT_EQ(ask(last).status, 201);
}

TEST(Http, WhatIsNoAnswerIsToldApart) {
  using enum WireProblem::Kind;
  EXPECT_EQ(problem_of({"hello\r\n\r\n"}).first, garbage);
  EXPECT_THAT(problem_of({"hello\r\n\r\n"}).second, HasSubstr("it began its answer with 'hello'"));
  EXPECT_EQ(problem_of({std::string(100'000, 'a')}).first, garbage);
  EXPECT_EQ(problem_of({"HTTP/1.1 2x OK\r\n\r\n"}).first, garbage);
  EXPECT_EQ(problem_of({"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n"}).first, garbage);
  EXPECT_EQ(problem_of({"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n"}).first, garbage);
  EXPECT_EQ(problem_of({"", true}).first, lost);
  EXPECT_EQ(problem_of({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", true}).first, lost);
  EXPECT_THAT(problem_of({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", true}).second,
              HasSubstr("in the middle of an answer"));
  EXPECT_EQ(problem_of({"", false, 60}, 0.1).first, timed_out);
  EXPECT_THAT(problem_of({"", false, 60}, 0.1).second, HasSubstr("no answer within 0.1 s"));
}

TEST(Http, NobodyIsThere) {
  std::uint16_t port;
  {
    port = TestServer([](const Asked&) { return Reply{}; }).port();
  }
  HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(port)));
  try {
    ask(client);
    FAIL();
  } catch (const WireProblem& problem) {
    EXPECT_EQ(problem.kind, WireProblem::Kind::refused);
  }
}

TEST(Http, AStopEndsWaiting) {
  TestServer server([](const Asked&) { return Reply{"", false, 600}; });
  std::atomic<bool> stop{false};
  auto waiting = std::async(std::launch::async, [&] {
    HttpClient client(parse_url(server.url()));
    client.ask("GET", "/", "", {500, Clock::now(), &stop});
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  stop = true;
  EXPECT_THROW(waiting.get(), Stopped);
}

}  // namespace
}  // namespace onward::testing
