#pragma once
// Benchmarks: one row a figure, beside its peer measured in the same run and the bar it is held to. Times are
// compared as ratios only, since machines are noisy.

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace onward::bench {

struct Row {
  std::string name;
  double value;
  std::string unit;
  std::optional<std::string> peer = {};
  std::optional<double> peer_value = {};
  std::optional<double> ratio = {};
  std::optional<std::string> bar = {};
  std::optional<bool> met = {};
};

/// Cases that take minutes tell this what they are about to measure.
using Hears = std::function<void(const std::string& what)>;

/// A case by name, and what gives its rows.
struct Benchmark {
  std::string name, summary;
  std::function<std::vector<Row>(const Hears& hears)> run;
};
/// All but posteriors, which has options of its own: see posteriors.hpp.
std::vector<Benchmark> cases();

std::vector<Row> jets();
std::vector<Row> kernels();
std::vector<Row> acceptance();
std::vector<Row> csv();
std::vector<Row> gradients();
std::vector<Row> glm_kernels();
std::vector<Row> glm_peers(const Hears& hears);  ///< the case glm
std::vector<Row> logreg(const Hears& hears);
std::vector<Row> regression(const Hears& hears);
std::vector<Row> million(const Hears& hears);
std::vector<Row> resume(const Hears& hears);
std::vector<Row> net_cases(const Hears& hears);  ///< the case net
std::vector<Row> netcdf(const Hears& hears);
std::vector<Row> reaction_diffusion(const Hears& hears);
std::vector<Row> umbridge_requests();  ///< the case umbridge

/// Seconds that one call of each of two functions takes: the least of several rounds in which they alternate,
/// so that a disturbance of the machine hits both.
struct Pair {
  double first, second;
};
Pair time_pair(const std::function<void()>& first, const std::function<void()>& second);

/// Keeps the compiler from dropping a computation.
inline void keep(double value) { asm volatile("" : : "x"(value) : "memory"); }

}  // namespace onward::bench
