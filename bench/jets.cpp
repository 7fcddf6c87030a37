// What a jet costs: orders 1 and 2 against one plain evaluation of the same callable with doubles (the
// standard library's functions), and order 2 against Boost.Math's forward-mode autodiff.

#include <span>
#include <vector>

#include <fmt/format.h>
#include <boost/math/differentiation/autodiff.hpp>

#include "bench.hpp"
#include "onward/random/stream.hpp"
#include "onward/target/callable.hpp"
#include "plain_densities.hpp"

// What Boost's type lacks of the functions that the models use, found beside it by argument-dependent lookup.
namespace boost::math::differentiation::autodiff_v1::detail {
template <typename R, std::size_t Order>
fvar<R, Order> log1p(const fvar<R, Order>& x) {
  return log(x + 1.0);
}
template <typename R, std::size_t Order>
fvar<R, Order> softplus(const fvar<R, Order>& x) {
  return log(exp(x) + 1.0);
}
}  // namespace boost::math::differentiation::autodiff_v1::detail

namespace onward::bench {
namespace {

namespace autodiff = boost::math::differentiation;
using BoostJet = autodiff::autodiff_fvar<double, 2>;

template <class Density>
void add_rows(std::vector<Row>& rows, const std::string& name, std::size_t dimension,
              const Density& density) {
  auto model = target(dimension, density);
  std::vector<double> theta(dimension), v(dimension);
  const Stream stream(1, 0);
  stream.normals(0, Purpose::start, theta);
  for (double& x : theta) x *= 0.3;
  stream.direction(0, Purpose::direction, v);

  const auto plain = [&] { keep(density(std::span<const double>(theta))); };
  const auto slope = [&] { keep(model.jet(theta, v, Order::slope).slope); };
  const auto curvature = [&] { keep(model.jet(theta, v, Order::curvature).curvature); };
  std::vector<BoostJet> boosted(dimension);
  const auto with_boost = [&] {
    const BoostJet alpha = autodiff::make_fvar<double, 2>(0.0);
    for (std::size_t i = 0; i < dimension; ++i) boosted[i] = theta[i] + v[i] * alpha;
    const BoostJet f = density(std::span<const BoostJet>(boosted));
    keep(f.derivative(2));
  };

  const Pair first = time_pair(slope, plain);
  rows.push_back({fmt::format("order-1 jet, {}", name), first.first * 1e9, "ns", "one double evaluation",
                  first.second * 1e9, first.first / first.second, "ratio <= 2.2",
                  first.first <= 2.2 * first.second});
  const Pair second = time_pair(curvature, plain);
  rows.push_back({fmt::format("order-2 jet, {}", name), second.first * 1e9, "ns", "one double evaluation",
                  second.second * 1e9, second.first / second.second, "ratio <= 3.5",
                  second.first <= 3.5 * second.second});
  const Pair boost = time_pair(curvature, with_boost);
  rows.push_back({fmt::format("order-2 jet against Boost autodiff, {}", name), boost.first * 1e9, "ns",
                  "Boost.Math autodiff, order 2", boost.second * 1e9, boost.second / boost.first,
                  "ratio >= 3", boost.second >= 3 * boost.first});

  // The prices of target/price.hpp: everything against a plain value of the same target.
  std::vector<double> w(dimension), gradient(dimension);
  stream.direction(1, Purpose::direction, w);
  const auto value = [&] { keep(model.jet(theta, v, Order::value).value); };
  const auto price = [&](const char* what, const auto& evaluate) {
    const Pair pair = time_pair(evaluate, value);
    rows.push_back({fmt::format("price of {}, {}", what, name), pair.first * 1e9, "ns",
                    "a value of the target", pair.second * 1e9, pair.first / pair.second});
  };
  price("a slope", slope);
  price("a curvature", curvature);
  price("slopes along two lines", [&] { keep(model.jet_pair(theta, v, w, Order::slope).second.slope); });
  price("curvatures along two lines",
        [&] { keep(model.jet_pair(theta, v, w, Order::curvature).second.curvature); });
  price("a gradient", [&] { keep(model.gradient(theta, gradient)); });
}

}  // namespace

std::vector<Row> jets() {
  std::vector<Row> rows;
  add_rows(rows, "funnel D=10", 11, PlainFunnel{});
  add_rows(rows, "funnel D=100", 101, PlainFunnel{});
  add_rows(rows, "eight-schools", 10, PlainEightSchools{});
  add_rows(rows, "logistic regression, 30 predictors, 500 rows", 30, PlainLogistic(500, 30));
  return rows;
}

}  // namespace onward::bench
