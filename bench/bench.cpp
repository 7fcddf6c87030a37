#include "bench.hpp"

#include <algorithm>

#include "onward/util/clock.hpp"

namespace onward::bench {
namespace {

double seconds(const std::function<void()>& f, int calls) {
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) f();
  return seconds_since(begin) / calls;
}

/// How many calls take about 5 ms.
int calls_for(const std::function<void()>& f) {
  int calls = 1;
  while (seconds(f, calls) * calls < 5e-3 && calls < (1 << 24)) calls *= 2;
  return calls;
}

}  // namespace

std::vector<Benchmark> cases() {
  const auto quiet = [](std::vector<Row> (*rows)()) { return [rows](const Hears&) { return rows(); }; };
  return {{"acceptance", "effective draws by the acceptance that warm-up steers for", quiet(acceptance)},
          {"csv", "CSV files into tables", quiet(csv)},
          {"glm", "regressions beside rstan's NUTS", glm_peers},
          {"regression", "regressions with and without groups, beside rstan's NUTS", regression},
          {"million", "a million rows in crossed groups, which is one of the rows of regression", million},
          {"glm-kernels", "the inner loops of regressions", quiet(glm_kernels)},
          {"gradients", "gradients by forward chunks and by tape", quiet(gradients)},
          {"jets", "jets beside a plain evaluation", quiet(jets)},
          {"kernels", "steps of the samplers on the funnel, and random numbers", quiet(kernels)},
          {"logreg", "softmax regression on MNIST beside PyTorch", logreg},
          {"net", "networks beside PyTorch", net_cases},
          {"netcdf", "draws into a netCDF file: speed and memory", netcdf},
          {"reaction-diffusion", "memory and time of a long simulation's jets beside reverse mode",
           reaction_diffusion},
          {"resume", "checkpoints, and chains that are kept as their moves", resume},
          {"umbridge", "requests to simulators behind UM-Bridge, and how busy they are kept",
           quiet(umbridge_requests)}};
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
