// What talking to simulators over HTTP costs of our own: a request and its answer where the server does
// nothing, and how busy several chains keep several slow servers.

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "bench.hpp"
#include "onward/model/model.hpp"
#include "onward/simulator/serve.hpp"
#include "onward/simulator/umbridge.hpp"
#include "onward/util/clock.hpp"

namespace onward::bench {
namespace {

/// A normal density that takes its time, and keeps count of it.
struct Slow {
  std::size_t size;
  std::chrono::milliseconds takes{0};
  std::shared_ptr<std::atomic<std::int64_t>> busy = std::make_shared<std::atomic<std::int64_t>>(0);  // in ns

  std::size_t dimension() const { return size; }
  Jet jet(VectorView x, VectorView v, Order order) const {
    const auto begin = Clock::now();
    if (takes.count() > 0) std::this_thread::sleep_for(takes);
    Jet jet;
    for (std::size_t i = 0; i < size; ++i) {
      jet.value -= 0.5 * x[i] * x[i];
      if (order != Order::value) jet.slope -= x[i] * v[i];
    }
    *busy += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    return jet;
  }
};

class Server {
 public:
  explicit Server(const Slow& model) : server_(model), thread_([this] { server_.run(stop_); }) {}
  ~Server() {
    stop_ = true;
    thread_.join();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }

 private:
  std::atomic<bool> stop_{false};
  ModelServer server_;
  std::thread thread_;
};

Row request_row(std::size_t inputs) {
  const Server server(Slow{inputs});
  const auto model = umbridge(server.url());
  const std::vector<double> x(inputs, 1.0 / 3);
  double out = 0;
  constexpr int rounds = 2000;
  const auto begin = Clock::now();
  for (int i = 0; i < rounds; ++i) model->evaluate(x, {&out, 1});
  const double milliseconds = 1e3 * seconds_since(begin) / rounds;
  return {.name = fmt::format("a request with {} inputs, client and server", inputs),
          .value = milliseconds,
          .unit = "ms",
          .bar = "<= 1 ms",
          .met = milliseconds <= 1};
}

Row busy_row() {
  constexpr std::size_t servers = 4;
  const auto busy = std::make_shared<std::atomic<std::int64_t>>(0);
  std::list<Server> all;
  std::string urls;
  for (std::size_t i = 0; i < servers; ++i) {
    const Server& one = all.emplace_back(Slow{2, std::chrono::milliseconds(20), busy});
    if (!urls.empty()) urls += ",";
    urls += one.url();
  }
  Model model = build({"umbridge", {{"url", urls}, {"check", false}}});
  const std::int64_t before = *busy;
  const auto begin = Clock::now();
  sample(std::move(model),
         {.sampler = "newton-line", .warmup = 50, .draws = 150, .thin = 1, .chains = servers, .seed = 1});
  const double share = 1e-9 * static_cast<double>(*busy - before) / (seconds_since(begin) * servers);
  return {.name = "4 chains on 4 servers of 20 ms: time that servers are busy",
          .value = 100 * share,
          .unit = "%",
          .bar = ">= 90%",
          .met = share >= 0.9};
}

}  // namespace

std::vector<Row> umbridge_requests() { return {request_row(10), request_row(1000), busy_row()}; }

}  // namespace onward::bench
