// A simulator with its own derivative code as a target: a damped spring, observed with noise, whose stiffness
// and damping are to be found. No scalar type of ours goes through it: it steps its state and, beside it, the
// state's derivative along the direction (a tangent-linear code, as oceans and atmospheres have them).

#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include <onward/onward.hpp>
#include <onward/random/stream.hpp>

class Spring {
 public:
  static constexpr double noise = 0.1;

  explicit Spring(std::vector<double> observed) : observed_(std::move(observed)) {}

  std::size_t dimension() const { return 2; }  // log stiffness, log damping

  onward::Jet jet(onward::VectorView theta, onward::VectorView v, onward::Order order) const {
    onward::Jet jet;
    for (double x : theta) jet.value -= 0.5 * x * x;  // both ~ N(0, 1)
    if (order != onward::Order::value)
      for (std::size_t i = 0; i < 2; ++i) {
        jet.slope -= theta[i] * v[i];
        jet.curvature -= v[i] * v[i];
      }
    std::size_t i = 0;
    run(theta, v, observed_.size(), [&](double x, double dx) {
      const double residual = (observed_[i++] - x) / noise, sensitivity = dx / noise;
      jet.value -= 0.5 * residual * residual;
      jet.slope += residual * sensitivity;
      jet.curvature -= sensitivity * sensitivity;  // Gauss-Newton: second derivatives of x left out
    });
    if (order == onward::Order::value) jet.slope = 0;
    if (order != onward::Order::curvature) jet.curvature = 0;
    return jet;
  }

  // What the parameters are called in output, and their values there.
  static std::vector<std::string> names() { return {"stiffness", "damping"}; }
  static void constrain(onward::VectorView theta, std::span<double> out) {
    for (std::size_t i = 0; i < 2; ++i) out[i] = std::exp(theta[i]);
  }

  /// Steps place and speed and their tangents, and shows the place every tenth of a second. Without a
  /// direction the tangents stay 0.
  template <class Observer>
  static void run(onward::VectorView theta, onward::VectorView v, std::size_t count,
                  const Observer& observe) {
    constexpr double step = 0.01;
    const double k = std::exp(theta[0]), c = std::exp(theta[1]);
    const double dk = v.empty() ? 0 : k * v[0], dc = v.empty() ? 0 : c * v[1];
    double x = 1, u = 0, dx = 0, du = 0;
    for (std::size_t n = 0; n < count; ++n) {
      for (int i = 0; i < 10; ++i) {
        du -= step * (dk * x + k * dx + dc * u + c * du);
        u -= step * (k * x + c * u);
        dx += step * du;
        x += step * u;
      }
      observe(x, dx);
    }
  }

 private:
  std::vector<double> observed_;
};

int main() {
  // Data from a spring of stiffness 2 and damping 0.3.
  const std::vector<double> truth{std::log(2.0), std::log(0.3)};
  std::vector<double> observed, errors(60);
  onward::Stream(7, 0).normals(0, onward::Purpose::noise, errors);
  Spring::run(truth, {}, errors.size(),
              [&](double x, double) { observed.push_back(x + Spring::noise * errors[observed.size()]); });
  Spring spring(observed);

  // A hand-written slope deserves a look beside a difference of values.
  const std::vector<double> v{0.6, 0.8}, ahead{truth[0] + 0.6e-5, truth[1] + 0.8e-5},
      behind{truth[0] - 0.6e-5, truth[1] - 0.8e-5};
  const double slope = spring.jet(truth, v, onward::Order::slope).slope;
  const double difference = (spring.jet(ahead, {}, onward::Order::value).value -
                             spring.jet(behind, {}, onward::Order::value).value) /
                            2e-5;
  std::cout << "slope " << slope << ", by differences " << difference << "\n\n";

  const auto run = onward::sample(spring, {.sampler = "pc-line-fmala", .draws = 2000, .seed = 1});
  std::cout << run.report();

  // The test that runs this example wants the slope right and the truth within reach of the posterior.
  bool right = std::abs(slope - difference) < 1e-6 * std::abs(slope);
  const auto rows = run.summary();
  for (std::size_t i = 0; i < 2; ++i)
    right = right && std::abs(rows[i].mean - std::exp(truth[i])) < 5 * rows[i].sd && rows[i].rhat < 1.02;
  return right ? 0 : 1;
}
