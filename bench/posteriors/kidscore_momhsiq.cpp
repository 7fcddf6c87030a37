// kidscore_momhsiq: test scores of children on school and IQ of their mothers; sigma ~ half-Cauchy(0, 2.5).

#include "bench/posteriors/linear.hpp"
#include "onward/ad/densities.hpp"

namespace onward::posteriors {

AnyTarget kidscore_momhsiq(const Data& data) {
  Column y = column(data, "kid_score");
  const Column ones(y.size(), 1);
  return target(
      Parameters{}.vector("beta", 3).positive("sigma"),
      [d = rows({ones, column(data, "mom_hs"), column(data, "mom_iq")}, std::move(y))](
          auto beta, auto sigma) { return cauchy_lpdf(sigma, 0.0, 2.5) + normal_rows(*d, beta, sigma); });
}

}  // namespace onward::posteriors
