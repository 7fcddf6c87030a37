// How fast a kernel runs on a generic callable against derivatives written by hand, and how fast normals are
// made.

#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "bench.hpp"
#include "hand_funnel.hpp"
#include "models/funnel.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"

namespace onward::bench {
namespace {

/// A chain that is stepped a thousand steps at a time.
class Chain {
 public:
  Chain(const std::string& sampler, double step_size, AnyTarget target)
      : target_(std::move(target)),
        kernel_(make_kernel({.sampler = sampler, .step_size = step_size})),
        workspace_(target_.dimension()) {
    state_.position.assign(target_.dimension(), 0.1);
    state_.value = target_.value(state_.position);
  }
  void thousand_steps() {
    for (int i = 0; i < 1000; ++i)
      step(kernel_, state_, target_, metric_, StepRandom(stream_, ++number_), workspace_);
    keep(state_.value);
  }

 private:
  AnyTarget target_;
  Kernel kernel_;
  Workspace workspace_;
  State state_;
  Metric metric_;
  Stream stream_{1, 0};
  std::uint64_t number_ = 0;
};

}  // namespace

std::vector<Row> kernels() {
  std::vector<Row> rows;
  for (const std::size_t count : {std::size_t{10}, std::size_t{100}}) {
    Chain generic("pc-line-fmala", 1, target(count + 1, models::FunnelDensity{}));
    Chain by_hand("pc-line-fmala", 1, HandFunnel(count));
    const Pair time = time_pair([&] { generic.thousand_steps(); }, [&] { by_hand.thousand_steps(); });
    Row row{fmt::format("pc-line-fmala, funnel D={}", count),
            1000 / time.first,
            "steps/s",
            "derivatives by hand",
            1000 / time.second,
            time.second / time.first};
    if (count == 10) {
      row.bar = "ratio >= 0.7";
      row.met = *row.ratio >= 0.7;
    }
    rows.push_back(std::move(row));
  }

  const auto add_function = [&](const char* name, auto ours, auto theirs) {
    std::vector<double> x(1000);
    Stream(2, 0).uniforms(0, Purpose::noise, x);
    const auto sum = [&](auto f) {
      return [&x, f] {
        double total = 0;
        for (const double u : x) total += f(u);
        keep(total);
      };
    };
    const Pair time = time_pair(sum(ours), sum(theirs));
    rows.push_back({fmt::format("{} of a number", name), time.first * 1e6, "ns", "the C library's",
                    time.second * 1e6, time.second / time.first});
  };
  add_function(
      "exp", [](double u) { return simd::exp(u); }, [](double u) { return std::exp(u); });
  add_function(
      "log", [](double u) { return simd::log(u); }, [](double u) { return std::log(u); });

  for (const std::size_t length : {std::size_t{1000}, std::size_t{11}}) {
    const Stream stream(1, 0);
    std::vector<double> ours(length), theirs(length);
    std::uint64_t number = 0;
    std::mt19937_64 generator(1);
    std::normal_distribution<double> normal;
    const Pair time = time_pair(
        [&] {
          stream.normals(++number, Purpose::noise, ours);
          keep(ours.front());
        },
        [&] {
          for (double& z : theirs) z = normal(generator);
          keep(theirs.front());
        });
    const auto n = static_cast<double>(length);
    Row row{fmt::format("standard normals, {} at a time", length), n / time.first,  "normals/s",
            "std::normal_distribution on std::mt19937_64",         n / time.second, time.second / time.first};
    if (length == 1000) {
      row.bar = "ratio >= 5";
      row.met = *row.ratio >= 5;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace onward::bench
