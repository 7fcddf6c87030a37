// eight_schools_noncentered: mu ~ N(0, 5), tau ~ half-Cauchy(0, 5), theta_j = mu + tau z_j, y_j ~ N(theta_j,
// sigma_j).

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget eight_schools_noncentered(const Data& data) {
  const Column y = column(data, "y"), sigma = column(data, "sigma");
  const std::size_t schools = y.size();
  auto density =
      target(Parameters{}.vector("z", schools).real("mu").positive("tau"), [=](auto z, auto mu, auto tau) {
        auto f = normal_lpdf(mu, 0.0, 5.0) + cauchy_lpdf(tau, 0.0, 5.0);
        for (std::size_t j = 0; j < schools; ++j)
          f += normal_lpdf(z[j], 0.0, 1.0) + normal_lpdf(y[j], mu + tau * z[j], sigma[j]);
        return f;
      });
  std::vector<std::string> names;
  add_names(names, "theta", schools);
  names.insert(names.end(), {"mu", "tau"});
  return Reported(std::move(density), names, [schools](auto z, auto out) {
    const double mu = z[schools], tau = z[schools + 1];
    for (std::size_t j = 0; j < schools; ++j) out[j] = mu + tau * z[j];
    out[schools] = mu;
    out[schools + 1] = tau;
  });
}

}  // namespace onward::posteriors
