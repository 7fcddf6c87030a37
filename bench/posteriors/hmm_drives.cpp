// Two hidden states seen in two series at once, speed and distance, with known narrow noise: means of either
// in the wrong place cost ten thousand in log density. phi_1, lambda_1 ~ N(0, 1), phi_2, lambda_2 ~ N(3, 1),
// in rising order; flat priors on where each state goes.

#include "bench/posteriors/hmm.hpp"
#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget hmm_drives(const Data& data) {
  auto parameters = Parameters{}
                        .simplex("theta1", 2)
                        .simplex("theta2", 2)
                        .positive_ordered("phi", 2)
                        .positive_ordered("lambda", 2);
  return target(parameters, [u = shared(column(data, "u")), v = shared(column(data, "v")),
                             tau = data.at("tau").get<double>(), rho = data.at("rho").get<double>()](
                                auto theta1, auto theta2, auto phi, auto lambda) {
    using std::log;
    using T = std::remove_cvref_t<decltype(phi[0])>;
    const T to[2][2] = {{log(theta1[0]), log(theta1[1])}, {log(theta2[0]), log(theta2[1])}};
    return normal_lpdf(phi[0], 0.0, 1.0) + normal_lpdf(phi[1], 3.0, 1.0) + normal_lpdf(lambda[0], 0.0, 1.0) +
           normal_lpdf(lambda[1], 3.0, 1.0) + two_states<T>(u->size(), to, [&](std::size_t t, std::size_t k) {
             return normal_lpdf((*u)[t], phi[k], tau) + normal_lpdf((*v)[t], lambda[k], rho);
           });
  });
}

}  // namespace onward::posteriors
