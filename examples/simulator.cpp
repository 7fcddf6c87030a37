// A simulator with its own derivative code as a target: a damped spring, observed with noise, whose stiffness
// and damping are to be found. No scalar type of ours goes through it: it steps its state and, beside it, the
// state's derivative along the direction (a tangent-linear code, as oceans and atmospheres have them).

#include <cmath>
#include <cstddef>
#include <iostream>
#include <vector>

#include <onward/onward.hpp>
#include <onward/random/stream.hpp>

struct Spring {
  static std::size_t inputs() { return 2; }  // stiffness, damping
  static std::size_t outputs() { return 60; }

  static void apply(onward::VectorView x, std::span<double> out) {
    const double still[] = {0, 0};
    apply_jacobian(x, still, out, {});
  }

  /// Steps place and speed and their tangents, and shows the place every tenth of a second.
  static void apply_jacobian(onward::VectorView x, onward::VectorView v, std::span<double> out,
                             std::span<double> tangent) {
    constexpr double step = 0.01;
    const double k = x[0], c = x[1], dk = v[0], dc = v[1];
    double p = 1, u = 0, dp = 0, du = 0;
    for (std::size_t n = 0; n < outputs(); ++n) {
      for (int i = 0; i < 10; ++i) {
        du -= step * (dk * p + k * dp + dc * u + c * du);
        u -= step * (k * p + c * u);
        dp += step * du;
        p += step * u;
      }
      out[n] = p;
      if (!tangent.empty()) tangent[n] = dp;
    }
  }
};

int main() {
  // Data from a spring of stiffness 2 and damping 0.3.
  const std::vector<double> truth{2.0, 0.3};
  constexpr double noise = 0.1;
  std::vector<double> data(Spring::outputs()), errors(data.size());
  Spring::apply(truth, data);
  onward::Stream(7, 0).normals(0, onward::Purpose::noise, errors);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] += noise * errors[i];

  auto parameters = onward::Parameters{}.positive("stiffness").positive("damping");
  auto spring = onward::observed(Spring{}, data, onward::normal_noise(noise), parameters,
                                 [](auto k, auto c) { return -0.5 * k - 0.5 * c; });  // exponential, mean 2

  // A hand-written tangent deserves a look beside a difference of values.
  const std::vector<double> at{std::log(2.0), std::log(0.3)}, v{0.6, 0.8};
  const auto value = [&](double alpha) {
    const std::vector<double> there{at[0] + alpha * v[0], at[1] + alpha * v[1]};
    return spring.jet(there, {}, onward::Order::value).value;
  };
  const double slope = spring.jet(at, v, onward::Order::slope).slope;
  const double difference = (value(1e-5) - value(-1e-5)) / 2e-5;
  std::cout << "slope " << slope << ", by differences " << difference << "\n\n";

  const auto run = onward::sample(spring, {.sampler = "newton-line", .draws = 2000, .seed = 1});
  std::cout << run.report();

  // The test that runs this example wants the slope right and the truth within reach of the posterior.
  bool right = std::abs(slope - difference) < 1e-6 * std::abs(slope);
  const auto rows = run.summary();
  for (std::size_t i = 0; i < 2; ++i)
    right = right && std::abs(rows[i].mean - truth[i]) < 5 * rows[i].sd && rows[i].rhat < 1.02;
  return right ? 0 : 1;
}
