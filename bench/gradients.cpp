// What a full gradient costs, in values of the same model written with plain loops: of that model, by forward
// mode with a register full of tangents in each pass and over the tape, and of the model written with
// functions of whole vectors. Beside them ADOL-C (Debian's libadolc-dev, if it was there at configure time),
// which tapes anew at each call as we do, since a model may branch. docs/decisions/gradient.md has the
// figures.

#include <vector>

#include <fmt/format.h>

#ifdef ONWARD_HAS_ADOLC
#include <adolc/adolc.h>

// The functions of the models that ADOL-C's type lacks.
static adouble log1p(const adouble& x) { return log(x + 1.0); }
static adouble softplus(const adouble& x) { return log(exp(x) + 1.0); }
#endif

#include "bench.hpp"
#include "models/eight_schools.hpp"
#include "models/funnel.hpp"
#include "models/logistic.hpp"
#include "models/stochastic_volatility.hpp"
#include "onward/target/callable.hpp"
#include "plain_densities.hpp"

namespace onward::bench {
namespace {

/// Rows of one model. The bar is for the gradient of the built-in one.
template <class Plain, class BuiltIn>
void add_rows(std::vector<Row>& rows, const std::string& name, Plain plain, BuiltIn built_in,
              std::optional<double> bar = {}) {
  const std::size_t dimension = plain.dimension();
  std::vector<double> theta(dimension), out(dimension);
  for (std::size_t i = 0; i < dimension; ++i) theta[i] = 0.1 + 0.3 * std::sin(static_cast<double>(i));
  const auto value = [&] { keep(plain.jet(theta, {}, Order::value).value); };
  const auto add = [&](const std::string& what, const auto& gradient, std::optional<double> most = {}) {
    const Pair pair = time_pair(gradient, value);
    Row row{fmt::format("{}, {}", what, name), pair.first * 1e9,  "ns",
            "a value by plain loops",          pair.second * 1e9, pair.first / pair.second};
    if (most) {
      row.bar = fmt::format("ratio <= {}", *most);
      row.met = *row.ratio <= *most;
    }
    rows.push_back(row);
  };
  add(
      "gradient", [&] { keep(built_in.gradient(theta, out)); }, bar);
  add("gradient of plain loops", [&] { keep(plain.gradient(theta, out)); });
  if (dimension <= 64) add("the same in passes", [&] { keep(plain.forward_gradient(theta, out)); });
  add("the same over the tape", [&] { keep(plain.reverse_gradient(theta, out)); });
}

template <class Plain, class BuiltIn>
void add_densities(std::vector<Row>& rows, const std::string& name, std::size_t dimension, const Plain& plain,
                   const BuiltIn& built_in, std::optional<double> bar = {}) {
  add_rows(rows, name, target(dimension, plain), target(dimension, built_in), bar);
#ifdef ONWARD_HAS_ADOLC
  auto model = target(dimension, plain);
  std::vector<double> theta(dimension, 0.1), out(dimension);
  const auto tape = [&] { keep(model.reverse_gradient(theta, out)); };
  const auto adolc = [&] {
    constexpr short tag = 1;
    trace_on(tag);
    std::vector<adouble> x(dimension);
    for (std::size_t i = 0; i < dimension; ++i) x[i] <<= theta[i];
    adouble f = plain(std::span<const adouble>(x));
    double value = 0;
    f >>= value;
    trace_off();
    ::gradient(tag, static_cast<int>(dimension), theta.data(), out.data());
    keep(out[0]);
  };
  const Pair theirs = time_pair(tape, adolc);
  rows.push_back({fmt::format("our tape, plain loops, {}", name), theirs.first * 1e9, "ns", "ADOL-C",
                  theirs.second * 1e9, theirs.second / theirs.first});
#endif
}

}  // namespace

std::vector<Row> gradients() {
  std::vector<Row> rows;
  for (const std::size_t d : {10, 50, 100, 200})
    add_densities(rows, fmt::format("funnel D={}", d), d + 1, PlainFunnel{}, models::FunnelDensity{}, 7);
  add_densities(rows, "funnel term by term D=200", 201, TermwiseFunnel{}, models::FunnelDensity{});
  add_densities(rows, "eight schools", 10, PlainEightSchools{}, models::EightSchoolsDensity{}, 7);
  constexpr std::size_t steps = models::stochastic_volatility_steps;
  add_rows(rows, "stochastic volatility",
           target(models::stochastic_volatility_parameters(steps), PlainStochasticVolatility(steps)),
           models::StochasticVolatilityTarget(steps), 4);
  for (const std::size_t d : {8, 32, 128})
    add_densities(rows, fmt::format("logistic regression, 500 rows, D={}", d), d, PlainLogistic(500, d),
                  models::LogisticDensity(500, d), d == 32 ? std::optional(0.8) : std::nullopt);
  return rows;
}

}  // namespace onward::bench
