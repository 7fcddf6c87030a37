// How fast a population spreads, patch by patch, from noisy counts at a few places and times. Each step of
// the sampler sends a direction through 10,000 time steps, and keeps nothing of them.
//
//     example_reaction_diffusion         16 unknowns and 400 time steps: seconds
//     example_reaction_diffusion full    100 unknowns and 10,000 time steps: minutes

#include "reaction_diffusion.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <onward/onward.hpp>
#include <onward/random/stream.hpp>
#include <onward/util/memory.hpp>

int main(int argc, char** argv) {
  const bool full = argc > 1 && std::string(argv[1]) == "full";
  const Square square =
      full ? Square{} : Square{.side = 12, .patches = 4, .steps = 400, .times = 5, .sensors = 6};
  constexpr double noise = 0.05;

  // The truth, and data from it.
  std::vector<double> truth(square.inputs()), data(square.outputs()), errors(data.size());
  const onward::Stream stream(7, 0);
  stream.normals(0, onward::Purpose::start, truth);
  for (double& d : truth) d = std::exp(0.5 * d);
  simulate<double>(square, truth, data);
  stream.normals(0, onward::Purpose::noise, errors);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] += noise * errors[i];

  const auto map = onward::forward(square.inputs(), square.outputs(), [square](auto in, auto out) {
    simulate<typename decltype(out)::value_type>(square, in, out);
  });
  auto parameters = onward::Parameters{}.positive_vector("d", square.inputs());
  auto target = onward::observed(map, data, onward::normal_noise(noise), parameters, [](auto d) {
    using std::log;
    auto f = 0.0 * d[0];
    for (const auto& x : d) f += onward::normal_lpdf(log(x), 0.0, 0.5) - log(x);  // lognormal
    return f;
  });
  const std::size_t sweep = square.inputs();  // steps: a line has one direction of so many
  const auto run = onward::sample(target, {.sampler = "newton-line",
                                           .warmup = (full ? 400 : 150) * sweep,
                                           .draws = full ? 400u : 300u,
                                           .chains = 2,
                                           .seed = 1,
                                           .metric = onward::MetricKind::dense});

  // What is known of a patch afterwards, beside its prior; the truth should be as far away as it says.
  const auto rows = run.summary();
  double z2 = 0, known = 0, rhat = 0, ess = rows[0].ess_bulk;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    std::vector<double> logs;
    double mean = 0, square_sum = 0;
    for (const auto& chain : run.parameter(i))
      for (const double d : chain) logs.push_back(std::log(d));
    for (const double x : logs) mean += x / static_cast<double>(logs.size());
    for (const double x : logs) square_sum += (x - mean) * (x - mean) / static_cast<double>(logs.size());
    const double sd = std::sqrt(square_sum), z = (mean - std::log(truth[i])) / sd;
    z2 += z * z;
    known += 1 - square_sum / 0.25;
    rhat = std::max(rhat, rows[i].rhat);
    ess = std::min(ess, rows[i].ess_bulk);
  }
  const auto count = static_cast<double>(truth.size());
  std::cout << truth.size() << " unknowns, " << square.steps << " time steps, " << run.counts().jets()
            << " jets\nlargest R-hat " << rhat << ", least bulk ESS " << ess
            << "\nvariance of log d explained by the data: " << known / count
            << "\nmean square of (posterior mean - truth) / sd: " << z2 / count << "\npeak memory "
            << onward::shown_bytes(onward::peak_resident_bytes()) << '\n';

  // The squares have mean 1: five of their standard errors, if errors of patches were independent.
  const bool right = rhat < 1.1 && std::abs(z2 / count - 1) < 5 * std::sqrt(2 / count);
  return right ? 0 : 1;
}
