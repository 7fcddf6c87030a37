// Answers of J people to I questions: y_ji ~ Bernoulli(inv_logit(a_i (theta_j - b_i))). theta ~ N(0, 1),
// a ~ lognormal(0, sigma_a), b ~ N(mu_b, sigma_b), mu_b ~ N(0, 5), sigma_a, sigma_b ~ half-Cauchy(0, 2).

#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget item_response(const Data& data) {
  const auto items = data.at("I").get<std::size_t>(), people = data.at("J").get<std::size_t>();
  auto parameters = Parameters{}
                        .vector("theta", people)
                        .positive_vector("a", items)
                        .vector("b", items)
                        .positive("sigma_a")
                        .real("mu_b")
                        .positive("sigma_b");
  return target(parameters, [y = shared(table_rows(data, "y"))](auto theta, auto a, auto b, auto sigma_a,
                                                                auto mu_b, auto sigma_b) {
    using std::log;
    auto f = cauchy_lpdf(sigma_a, 0.0, 2.0) + cauchy_lpdf(sigma_b, 0.0, 2.0) + normal_lpdf(mu_b, 0.0, 5.0);
    for (const auto& t : theta) f += normal_lpdf(t, 0.0, 1.0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto log_a = log(a[i]);
      f += normal_lpdf(log_a, 0.0, sigma_a) - log_a + normal_lpdf(b[i], mu_b, sigma_b);
    }
    const double* answer = y->data();
    for (std::size_t j = 0; j < theta.size(); ++j)
      for (std::size_t i = 0; i < a.size(); ++i)
        f += bernoulli_logit_lpmf(*answer++ == 1, a[i] * (theta[j] - b[i]));
    return f;
  });
}

}  // namespace onward::posteriors
