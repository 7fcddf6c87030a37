// What a full gradient costs, for baseline MALA: forward mode with a register full of tangents a pass, our
// arena tape, and ADOL-C (Debian's libadolc-dev, if it was there at configure time) taping anew at each call
// as we do, since a model may branch. The figures behind CallableTarget::forward_gradient_limit
// (docs/decisions/gradient.md).

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
#include "onward/target/callable.hpp"

namespace onward::bench {
namespace {

template <class Density>
void add_rows(std::vector<Row>& rows, const std::string& name, std::size_t dimension,
              const Density& density) {
  auto model = target(dimension, density);
  std::vector<double> theta(dimension, 0.1), out(dimension);
  const auto forward = [&] { keep(model.forward_gradient(theta, out)); };
  const auto tape = [&] { keep(model.reverse_gradient(theta, out)); };
  const Pair ours = time_pair(forward, tape);
  rows.push_back({fmt::format("forward chunks, {}, D={}", name, dimension), ours.first * 1e9, "ns",
                  "our arena tape", ours.second * 1e9, ours.second / ours.first});
#ifdef ONWARD_HAS_ADOLC
  const auto adolc = [&] {
    constexpr short tag = 1;
    trace_on(tag);
    std::vector<adouble> x(dimension);
    for (std::size_t i = 0; i < dimension; ++i) x[i] <<= theta[i];
    adouble f = density(std::span<const adouble>(x));
    double value = 0;
    f >>= value;
    trace_off();
    ::gradient(tag, static_cast<int>(dimension), theta.data(), out.data());
    keep(out[0]);
  };
  const Pair theirs = time_pair(tape, adolc);
  rows.push_back({fmt::format("our arena tape, {}, D={}", name, dimension), theirs.first * 1e9, "ns",
                  "ADOL-C", theirs.second * 1e9, theirs.second / theirs.first});
#endif
}

}  // namespace

std::vector<Row> gradients() {
  std::vector<Row> rows;
  for (const std::size_t d : {8, 16, 32, 64, 128}) add_rows(rows, "funnel", d, models::FunnelDensity{});
  add_rows(rows, "eight-schools", 10, models::EightSchoolsDensity{});
  for (const std::size_t d : {8, 16, 32, 64, 128})
    add_rows(rows, "logistic regression, 500 rows", d, models::LogisticDensity(500, d));
  return rows;
}

}  // namespace onward::bench
