// Eight schools as a plug-in in C++: the log density is written once, over any scalar, and derivatives come
// of themselves. Build it with CMake: find_package(onward), and a MODULE library that links onward::onward.
#include <array>
#include <onward/plugin.hpp>

ONWARD_PLUGIN(argument) {
  static constexpr std::array y{28., 8., -3., 7., -1., 1., 18., 12.};
  static constexpr std::array sd{15., 10., 16., 11., 9., 11., 10., 18.};
  auto parameters = onward::Parameters{}.real("mu").positive("tau").vector("eta", 8);
  return onward::target(parameters, [](auto mu, auto tau, const auto& eta) {
    auto f = onward::normal_lpdf(mu, 0.0, 5.0) + onward::cauchy_lpdf(tau, 0.0, 5.0);
    for (std::size_t j = 0; j < y.size(); ++j)
      f += onward::normal_lpdf(eta[j], 0.0, 1.0) + onward::normal_lpdf(y[j], mu + tau * eta[j], sd[j]);
    return f;
  });
}
