// arK: the built-in autoregression, whose priors are posteriordb's.

#include "models/autoregression.hpp"
#include "bench/posteriors/reported.hpp"

namespace onward::posteriors {

AnyTarget autoregression(const Data& data) {
  return models::autoregression(column(data, "y"), data.at("K").get<std::size_t>());
}

}  // namespace onward::posteriors
