// A long simulation with many unknowns: memory and time of jets beside reverse mode, which keeps the
// trajectory or snapshots of it. The equation is that of examples/reaction_diffusion.hpp, the adjoint is
// written by hand, and nothing else could be smaller or faster in reverse: a tape keeps every operation.

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "bench.hpp"
#include "in_child.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/observed.hpp"
#include "onward/util/memory.hpp"
#include "reaction_adjoint.hpp"

namespace onward::bench {
namespace {

constexpr Square grid{.side = 64};

/// Bytes that a function held at most, beside those of the process before: in a process of its own.
double peak_of(const std::function<void()>& f) {
  return in_child<double>([&] {
    give_back_memory();
    forget_peak();
    const double before = resident_bytes();
    f();
    return std::max(peak_resident_bytes() - before, 4096.0);
  });
}

/// Processor time, the least of three: these are long, and other work on the machine should not count.
double seconds_of(const std::function<void()>& f) {
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) {
    const std::clock_t begin = std::clock();
    f();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace

std::vector<Row> reaction_diffusion(const Hears& hears) {
  const Stream stream(1, 0);
  std::vector<double> d(grid.inputs()), v(d.size()), data(grid.outputs()), gradient(d.size());
  stream.normals(0, Purpose::start, d);
  for (double& x : d) x = std::exp(0.3 * x);
  stream.direction(0, Purpose::direction, v);
  simulate<double>(grid, std::vector<double>(d.size(), 1.0), data);

  const auto jet_of = [&]<class T>(const T& number) {
    std::vector<T> in(d.size(), number), out(data.size());
    for (std::size_t i = 0; i < d.size(); ++i) {
      in[i].value = d[i];
      in[i].slope = v[i];
    }
    simulate<T>(grid, in, out);
    T f(0.0);
    for (std::size_t i = 0; i < data.size(); ++i) f -= 0.5 * onward::square(data[i] - out[i]);
    keep(f.slope);
  };
  const auto first = [&] { jet_of(Dual<double>(0.0)); };
  const auto second = [&] { jet_of(Jet2<double>(0.0)); };
  const auto value = [&] {
    std::vector<double> out(data.size());
    simulate<double>(grid, d, out);
    keep(out.back());
  };
  const auto trajectory = [&] { keep(ReactionAdjoint(grid, data).by_trajectory(d, gradient)); };
  const auto snapshots = [&](std::size_t count) {
    return [&, count] { keep(ReactionAdjoint(grid, data).by_snapshots(d, gradient, count)); };
  };

  hears("memory: jets, a trajectory, snapshots");
  std::vector<Row> rows;
  // Pages that a process has already are not counted, and jets need few: no less than what they declare.
  const auto declared = [&](std::size_t number) {
    const std::size_t fields = 4 * (grid.cells() + 2 * grid.side);
    return static_cast<double>((fields + d.size() + data.size()) * number);
  };
  const double all = peak_of(trajectory), one = std::max(peak_of(first), declared(sizeof(Dual<double>))),
               two = std::max(peak_of(second), declared(sizeof(Jet2<double>)));
  rows.push_back({"peak memory of a slope", one / 1e6, "MB", "reverse mode with the trajectory", all / 1e6,
                  all / one, "ratio >= 100", all >= 100 * one});
  rows.push_back({"peak memory of a slope and a curvature", two / 1e6, "MB",
                  "reverse mode with the trajectory", all / 1e6, all / two, "ratio >= 100",
                  all >= 100 * two});

  hears("processor time: a value, jets, a trajectory");
  const double plain = seconds_of(value), slope = seconds_of(first), curvature = seconds_of(second),
               reverse = seconds_of(trajectory);
  rows.push_back({"processor time of a slope", slope * 1e3, "ms", "a value", plain * 1e3, slope / plain});
  rows.push_back({"processor time of a slope and a curvature", curvature * 1e3, "ms", "a value", plain * 1e3,
                  curvature / plain});
  rows.push_back({"processor time of a slope", slope * 1e3, "ms", "a gradient with the trajectory",
                  reverse * 1e3, reverse / slope});
  for (const std::size_t count : {4, 10, 30, 100}) {
    hears(fmt::format("a gradient with {} snapshots", count));
    const double bytes = peak_of(snapshots(count)), time = seconds_of(snapshots(count));
    rows.push_back({fmt::format("peak memory of a slope beside {} snapshots", count), one / 1e6, "MB",
                    "binomial checkpointing", bytes / 1e6, bytes / one});
    rows.push_back({fmt::format("processor time of a slope beside {} snapshots", count), slope * 1e3, "ms",
                    "binomial checkpointing", time * 1e3, time / slope});
  }
  return rows;
}

}  // namespace onward::bench
