// Jets through Boost.odeint: fixed steps and error control.

#include <array>
#include <boost/numeric/odeint.hpp>
#include <vector>

#include "ad/harness.hpp"

namespace onward::ad_test {
namespace {

namespace odeint = boost::numeric::odeint;

/// A predator and its prey, with a rate that moves: sum of both at time 3.
template <class State>
auto populations(const typename State::value_type& rate, const auto& integrate) {
  using X = typename State::value_type;
  State x{};
  if constexpr (requires { x.resize(2); }) x.resize(2);
  x[0] = X(1.5) + 0.1 * rate;
  x[1] = X(1.0);
  const auto field = [&](const State& s, State& ds, const auto&) {
    ds[0] = s[0] * (rate - 0.5 * s[1]);
    ds[1] = s[1] * (0.4 * s[0] - 1.0);
  };
  integrate(field, x);
  return X(x[0] + x[1]);
}

template <class State>
auto fixed_steps(const typename State::value_type& rate) {
  using X = typename State::value_type;
  return populations<State>(rate, [](const auto& field, State& x) {
    using Number = std::conditional_t<std::is_same_v<X, long double>, long double, double>;
    odeint::integrate_const(odeint::runge_kutta4<State, Number>(), field, x, Number(0), Number(3),
                            Number(0.125));
  });
}

TEST(AdOdeint, FixedSteps) {
  const std::function<long double(long double)> g = [](long double h) {
    return fixed_steps<std::array<long double, 2>>(0.8L + h);
  };
  const auto check = [&](const Jet2<double>& jet) {
    EXPECT_NEAR(jet.value, static_cast<double>(g(0)), 1e-13);
    EXPECT_NEAR(jet.slope / static_cast<double>(finite_difference(g, 1, 0.05L)), 1, 1e-10);
    EXPECT_NEAR(jet.curvature / static_cast<double>(finite_difference(g, 2, 0.05L)), 1, 1e-8);
  };
  check(fixed_steps<std::array<Jet2<double>, 2>>(Jet2<double>(0.8, 1, 0)));
  check(fixed_steps<std::vector<Jet2<double>>>(Jet2<double>(0.8, 1, 0)));
}

/// With error control the sizes of the steps are jets too; the result is as good as the tolerance.
template <class State>
auto controlled(const typename State::value_type& rate, double tolerance) {
  using X = typename State::value_type;
  return populations<State>(rate, [&](const auto& field, State& x) {
    using Stepper = odeint::runge_kutta_dopri5<State, X>;
    odeint::integrate_adaptive(odeint::make_controlled<Stepper>(X(tolerance), X(tolerance)), field, x, X(0.0),
                               X(3.0), X(0.1));
  });
}

TEST(AdOdeint, ErrorControl) {
  const std::function<long double(long double)> g = [](long double h) {
    return controlled<std::vector<long double>>(0.8L + h, 1e-16);
  };
  const Jet2<double> jet = controlled<std::vector<Jet2<double>>>(Jet2<double>(0.8, 1, 0), 1e-12);
  EXPECT_NEAR(jet.value / static_cast<double>(g(0)), 1, 1e-10);
  EXPECT_NEAR(jet.slope / static_cast<double>(finite_difference(g, 1, 0.05L)), 1, 1e-8);
  EXPECT_NEAR(jet.curvature / static_cast<double>(finite_difference(g, 2, 0.05L)), 1, 1e-6);
}

}  // namespace
}  // namespace onward::ad_test
