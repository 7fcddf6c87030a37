// Rates of a differential equation, which Boost.odeint solves, from ten noisy observations of its solution.
#include <array>
#include <boost/numeric/odeint.hpp>
#include <cmath>
#include <iostream>
#include <onward/onward.hpp>

// Prey at the times 1, 2, ..., 10: it grows, and is eaten by a predator.
template <class T>
std::array<T, 10> prey(const T& growth, const T& predation) {
  using State = std::array<T, 2>;
  // Times and the weights of the method are plain numbers, hence the double. Only the state is made of T.
  boost::numeric::odeint::runge_kutta4<State, double> stepper;
  const auto field = [&](const State& x, State& dx, double) {
    dx[0] = x[0] * (growth - predation * x[1]);
    dx[1] = x[1] * (0.4 * x[0] - 1.0);
  };
  State x{T(1.5), T(1.0)};
  std::array<T, 10> seen;
  for (T& each : seen) {
    boost::numeric::odeint::integrate_const(stepper, field, x, 0.0, 1.0, 0.05);
    each = x[0];
  }
  return seen;
}

int main() {
  auto y = prey(0.8, 0.5);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += i % 2 == 0 ? 0.1 : -0.1;

  auto parameters = onward::Parameters{}.positive("growth").positive("predation");
  auto target = onward::target(parameters, [&](auto growth, auto predation) {
    auto f = -growth - predation;  // both exponential(1)
    const auto x = prey(growth, predation);
    for (std::size_t i = 0; i < y.size(); ++i) f += onward::normal_lpdf(y[i], x[i], 0.1);
    return f;
  });
  auto run = onward::sample(target, {.seed = 1});
  std::cout << run.report();
  return run.warnings().empty() ? 0 : 1;
}
