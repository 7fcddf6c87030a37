// A simulator that exists already, in C and with a tangent-linear twin by hand (soil.c), as a model:
//
//     onward sample plugin:./soil.so --data soil.txt
//
// The data are temperatures, one after the other, as soil_run() gives them.

#include <fstream>
#include <iterator>
#include <onward/plugin.hpp>

#include "soil.h"

namespace {

struct Soil {
  static std::size_t inputs() { return SOIL_PARAMETERS; }
  static std::size_t outputs() { return SOIL_HOURS * SOIL_DEPTHS; }
  static void apply(onward::VectorView x, std::span<double> out) { check(soil_run(x.data(), out.data())); }
  static void apply_jacobian(onward::VectorView x, onward::VectorView v, std::span<double> out,
                             std::span<double> tangent) {
    check(soil_run_tl(x.data(), v.data(), out.data(), tangent.data()));
  }
  static void check(int code) {
    if (code != 0) throw std::domain_error("a diffusivity is too large for the step");
  }
};

}  // namespace

ONWARD_PLUGIN(file) {
  std::ifstream in(file);
  if (!in) throw onward::UsageError("cannot read the temperatures '" + file + "': give their file as --data");
  std::vector<double> seen{std::istream_iterator<double>(in), {}};
  auto parameters =
      onward::Parameters{}.positive("upper").positive("lower").real("mean").positive("swing").positive(
          "sigma");
  return onward::observed(Soil{}, std::move(seen), onward::normal_noise("sigma"), parameters,
                          [](auto upper, auto lower, auto mean, auto swing, auto sigma) {
                            using onward::normal_lpdf, std::log;
                            return normal_lpdf(log(upper), log(0.5), 0.5) - log(upper) +  // lognormal
                                   normal_lpdf(log(lower), log(0.5), 0.5) - log(lower) +
                                   normal_lpdf(mean, 15.0, 5.0) + normal_lpdf(swing, 0.0, 8.0) - sigma;
                          });
}
