// What a model reports besides its parameters: eight schools, not centred, with each school's effect, made-up
// data from the posterior, and how well the model would predict a school that it has not seen.
#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <iostream>
#include <onward/onward.hpp>
#include <onward/record/stored_likelihood.hpp>

int main() {
  const std::array y{28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0};
  const std::array sigma{15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0};
  const auto parameters = onward::Parameters{}.real("mu").positive("tau").vector("z", 8);

  // One observation. The same function serves the log density, with numbers that carry derivatives, and the
  // log likelihood of draws.
  const auto school = [=](std::size_t j, auto mu, auto tau, auto z) {
    return onward::normal_lpdf(y[j], mu + tau * z[j], sigma[j]);
  };
  const auto target =
      onward::target(parameters,
                     [=](auto mu, auto tau, auto z) {
                       if (tau > 1e3) onward::reject("tau is above 1000");
                       auto f = onward::normal_lpdf(mu, 0, 5) + onward::cauchy_lpdf(tau, 0, 5);
                       for (std::size_t j = 0; j < 8; ++j)
                         f += onward::std_normal_lpdf(z[j]) + school(j, mu, tau, z);
                       return f;
                     })
          .generate(onward::Quantities{}.vector("theta", 8).vector("y_rep", 8).real("largest"),
                    [=](auto& random, auto mu, auto tau, auto z, auto theta, auto y_rep, auto largest) {
                      for (std::size_t j = 0; j < 8; ++j) {
                        theta[j] = mu + tau * z[j];
                        y_rep[j] = random.normal(theta[j], sigma[j]);
                      }
                      largest = *std::max_element(y_rep.begin(), y_rep.end());
                    })
          .log_likelihood("school", 8, school);

  const auto run = onward::sample(target, {.sampler = "nuts", .draws = 1000, .seed = 1});
  std::cout << run.report();
  fmt::print("seed {}, {} steps of warm-up\n", run.seed(), run.warmup());

  const auto loo = onward::loo(onward::Model(target), run);
  fmt::print("elpd {:.1f} +- {:.1f}, {:.1f} effective parameters\n", loo.elpd.value, loo.elpd.se,
             loo.p.value);
}
