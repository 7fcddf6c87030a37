// blr: a regression on five columns of size 100; beta ~ N(0, 10), sigma ~ half-normal(0, 10).

#include "bench/posteriors/linear.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget blr(const Data& data) {
  Rows r{table_rows(data, "X"), column(data, "y")};
  return target(Parameters{}.vector("beta", data.at("D").get<std::size_t>()).positive("sigma"),
                [d = shared(std::move(r))](auto beta, auto sigma) {
                  auto f = normal_lpdf(sigma, 0.0, 10.0) + normal_rows(*d, beta, sigma);
                  for (const auto& b : beta) f += normal_lpdf(b, 0.0, 10.0);
                  return f;
                });
}

}  // namespace onward::posteriors
