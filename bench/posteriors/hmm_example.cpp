// hmm_example: two hidden states with means mu_1 < mu_2 and noise of width 1; mu_1 ~ N(3, 1), mu_2 ~ N(10,
// 1), flat priors on the probabilities theta1 and theta2 of where each state goes.

#include "bench/posteriors/hmm.hpp"
#include "bench/posteriors/reported.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget hmm_example(const Data& data) {
  return target(Parameters{}.simplex("theta1", 2).simplex("theta2", 2).positive_ordered("mu", 2),
                [y = shared(column(data, "y"))](auto theta1, auto theta2, auto mu) {
                  using std::log;
                  using T = std::remove_cvref_t<decltype(mu[0])>;
                  const T to[2][2] = {{log(theta1[0]), log(theta1[1])}, {log(theta2[0]), log(theta2[1])}};
                  return normal_lpdf(mu[0], 3.0, 1.0) + normal_lpdf(mu[1], 10.0, 1.0) +
                         two_states<T>(y->size(), to, [&](std::size_t t, std::size_t k) {
                           return normal_lpdf((*y)[t], mu[k], 1.0);
                         });
                });
}

}  // namespace onward::posteriors
