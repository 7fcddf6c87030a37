#include "bench.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& f, int calls) {
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) f();
  return std::chrono::duration<double>(Clock::now() - begin).count() / calls;
}

/// How many calls take about 5 ms.
int calls_for(const std::function<void()>& f) {
  int calls = 1;
  while (seconds(f, calls) * calls < 5e-3 && calls < (1 << 24)) calls *= 2;
  return calls;
}

}  // namespace

std::vector<std::string> cases() {
  return {"acceptance", "glm", "glm-kernels", "gradients", "jets", "kernels", "logreg", "net", "posteriors"};
}

std::vector<Row> run(const std::string& name, const Hears& hears) {
  if (name == "acceptance") return acceptance();
  if (name == "glm") return glm_peers(hears);
  if (name == "glm-kernels") return glm_kernels();
  if (name == "gradients") return gradients();
  if (name == "jets") return jets();
  if (name == "kernels") return kernels();
  if (name == "logreg") return logreg(hears);
  if (name == "net") return net_cases(hears);
  throw UsageError(fmt::format("there is no benchmark '{}'.{} Benchmarks: {}", name,
                               suggestion(name, cases()), joined(cases())));
}

Pair time_pair(const std::function<void()>& first, const std::function<void()>& second) {
  constexpr int rounds = 15;
  const int first_calls = calls_for(first), second_calls = calls_for(second);
  Pair best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int round = 0; round < rounds; ++round) {
    best.first = std::min(best.first, seconds(first, first_calls));
    best.second = std::min(best.second, seconds(second, second_calls));
  }
  return best;
}

}  // namespace onward::bench
