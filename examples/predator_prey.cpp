// Hares and lynxes: the pelts that the Hudson's Bay Company bought from 1900 to 1920, and the equations of
// Lotka and Volterra, which Boost.odeint solves on our scalars. docs/examples/predator-prey.md tells about
// it.

#include <array>
#include <boost/numeric/odeint.hpp>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <vector>

#include <onward/onward.hpp>

// Thousands of pelts, hare and lynx, year after year.
constexpr std::array<std::array<double, 2>, 21> pelts{
    {{30.0, 4.0},  {47.2, 6.1},  {70.2, 9.8},  {77.4, 35.2}, {36.3, 59.4}, {20.6, 41.7}, {18.1, 19.0},
     {21.4, 13.0}, {22.0, 8.3},  {25.4, 9.1},  {27.1, 7.4},  {40.3, 8.0},  {57.0, 12.3}, {76.6, 19.5},
     {52.3, 45.7}, {19.5, 51.1}, {11.2, 29.7}, {7.6, 15.8},  {14.6, 9.7},  {16.2, 10.1}, {24.7, 8.6}}};

// Six inputs, the rates and the populations of 1900; 42 outputs, the logarithms of both for every year.
struct LotkaVolterra {
  template <class In, class Out>
  void operator()(In in, Out out) const {
    using std::log;
    using T = typename Out::value_type;
    using State = std::array<T, 2>;
    const auto field = [&](const State& z, State& dz, double) {
      dz[0] = (in[0] - in[1] * z[1]) * z[0];
      dz[1] = (in[3] * z[0] - in[2]) * z[1];
    };
    // Times and the weights of the method are plain numbers, hence the double. Only the state is made of T.
    boost::numeric::odeint::runge_kutta4<State, double> stepper;
    State z{in[4], in[5]};
    for (std::size_t year = 0; year < pelts.size(); ++year) {
      if (year > 0) boost::numeric::odeint::integrate_n_steps(stepper, field, z, 0.0, 0.05, 20);
      out[2 * year] = log(z[0]);
      out[2 * year + 1] = log(z[1]);
    }
  }
};

int main(int argc, char** argv) {
  // Noise multiplies: the logarithms of the pelts have normal noise, of one sd for hares and one for lynxes.
  std::vector<double> data;
  std::vector<std::size_t> animal;
  for (const auto& year : pelts)
    for (std::size_t i = 0; i < 2; ++i) {
      data.push_back(std::log(year[i]));
      animal.push_back(i);
    }
  auto parameters =
      onward::Parameters{}.positive_vector("rate", 4).positive_vector("start", 2).positive_vector("sigma", 2);
  const auto prior = [](auto rate, auto start, auto sigma) {
    using onward::normal_lpdf, std::log;
    auto f = normal_lpdf(rate[0], 1.0, 0.5) + normal_lpdf(rate[1], 0.05, 0.05) +
             normal_lpdf(rate[2], 1.0, 0.5) + normal_lpdf(rate[3], 0.05, 0.05);
    // Lognormal: the logarithm of each is normal.
    for (const auto& z : start) f += normal_lpdf(log(z), std::log(10.0), 1.0) - log(z);
    for (const auto& s : sigma) f += normal_lpdf(log(s), -1.0, 1.0) - log(s);
    return f;
  };
  auto target = onward::observed(onward::forward(6, data.size(), LotkaVolterra{}), data,
                                 onward::normal_noise("sigma", animal), parameters, prior);

  onward::RunSettings settings{.sampler = "nuts", .seed = 1};
  if (argc > 1) {  // another sampler, from a place near the data: logarithms of the parameters
    settings.sampler = argv[1];
    settings.start = {.kind = onward::Start::Kind::given,
                      .position = {-0.7, -3.5, -0.2, -3.7, 3.4, 1.6, -1.2, -1.2}};
  }
  const auto run = onward::sample(target, settings);
  std::cout << run.report();

  // The test that runs this example wants the moments of the reference draws that posteriordb has.
  constexpr std::array<double, 8> means{0.5469, 0.02775, 0.8001, 0.02409, 34.04, 5.936, 0.2481, 0.2510};
  constexpr std::array<double, 8> sds{0.0631, 0.00415, 0.0894, 0.00353, 2.917, 0.5306, 0.0433, 0.0436};
  bool right = run.warnings().empty();
  const auto rows = run.summary();
  for (std::size_t i = 0; i < 8; ++i)
    right = right && std::abs(rows[i].mean - means[i]) < 0.1 * sds[i] &&
            std::abs(rows[i].sd - sds[i]) < 0.1 * sds[i];
  return right ? 0 : 1;
}
