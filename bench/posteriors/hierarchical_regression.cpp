// Groups with intercepts and slopes of their own, not centred: y_n ~ N(alpha_g + beta_g x_n, sigma) with
// alpha_g = mu_a + tau_a z_g and beta_g = mu_b + tau_b w_g. mu ~ N(0, 5), tau and sigma ~
// half-normal(0, 2.5).

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget hierarchical_regression(const Data& data) {
  const auto groups = data.at("G").get<std::size_t>();
  struct Seen {
    Column x, y;
    std::vector<std::size_t> group;  // from 0
  } seen{column(data, "x"), column(data, "y"), {}};
  for (const auto& g : data.at("g")) seen.group.push_back(g.get<std::size_t>() - 1);
  auto parameters = Parameters{}
                        .vector("z", groups)
                        .vector("w", groups)
                        .real("mu_a")
                        .real("mu_b")
                        .positive("tau_a")
                        .positive("tau_b")
                        .positive("sigma");
  auto density = target(parameters, [d = shared(std::move(seen))](auto z, auto w, auto mu_a, auto mu_b,
                                                                  auto tau_a, auto tau_b, auto sigma) {
    auto f = normal_lpdf(mu_a, 0.0, 5.0) + normal_lpdf(mu_b, 0.0, 5.0) + normal_lpdf(tau_a, 0.0, 2.5) +
             normal_lpdf(tau_b, 0.0, 2.5) + normal_lpdf(sigma, 0.0, 2.5);
    for (const auto& x : z) f += normal_lpdf(x, 0.0, 1.0);
    for (const auto& x : w) f += normal_lpdf(x, 0.0, 1.0);
    for (std::size_t n = 0; n < d->y.size(); ++n) {
      const std::size_t g = d->group[n];
      f += normal_lpdf(d->y[n], mu_a + tau_a * z[g] + (mu_b + tau_b * w[g]) * d->x[n], sigma);
    }
    return f;
  });
  std::vector<std::string> names;
  add_names(names, "alpha", groups);
  add_names(names, "beta", groups);
  names.insert(names.end(), {"mu_a", "mu_b", "tau_a", "tau_b", "sigma"});
  return Reported(std::move(density), names, [groups](auto declared, auto out) {
    const auto last = declared.subspan(2 * groups);
    for (std::size_t g = 0; g < groups; ++g) {
      out[g] = last[0] + last[2] * declared[g];
      out[groups + g] = last[1] + last[3] * declared[groups + g];
    }
    for (std::size_t k = 0; k < 5; ++k) out[2 * groups + k] = last[k];
  });
}

}  // namespace onward::posteriors
