#pragma once
// A folder with arrays of a small regression, for tests of `onward sample glm`.

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "onward/io/npy.hpp"
#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {

inline constexpr std::size_t rows = 200;

class Glm : public Program {
 protected:
  template <class T>
  void save(const std::string& name, const std::vector<T>& values, std::vector<std::size_t> shape = {},
            bool fortran_order = false) const {
    NpyArray array;
    array.shape = shape.empty() ? std::vector{values.size()} : std::move(shape);
    array.dtype = detail::npy_dtype<T>();
    array.fortran_order = fortran_order;
    array.data.resize(values.size() * sizeof(T));
    std::memcpy(array.data.data(), values.data(), array.data.size());
    write_npy(path(name), array);
  }

  /// Two predictors with coefficients 1 and -1/2, intercept 1/2; outcomes of several families.
  void SetUp() override {
    Program::SetUp();
    const Stream stream(3, 0);
    x.resize(2 * rows);
    stream.normals(0, Purpose::noise, x);
    std::vector<double> noise(rows), uniforms(rows), yes(rows), measured(rows), counts(rows), classes(rows);
    stream.normals(1, Purpose::noise, noise);
    stream.uniforms(2, Purpose::noise, uniforms);
    for (std::size_t i = 0; i < rows; ++i) {
      const double eta = 0.5 + x[2 * i] - 0.5 * x[2 * i + 1];
      yes[i] = uniforms[i] < 1 / (1 + std::exp(-eta)) ? 1 : 0;
      measured[i] = eta + 0.7 * noise[i];
      counts[i] = std::floor(std::exp(0.5 * eta) + uniforms[i]);
      classes[i] = std::floor(3 * uniforms[i]);
    }
    save("x.npy", x, {rows, 2});
    save("yes.npy", yes);
    save("measured.npy", measured);
    save("counts.npy", counts);
    save("classes.npy", classes);
    save("ones.npy", std::vector<double>(rows, 1.0));
  }

  nlohmann::json sampled(const std::string& words) const {
    const Outcome outcome = onward("sample glm --x x.npy --seed 1 --out none --quiet --json " + words);
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.err;
    return outcome.code == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
  }

  std::vector<double> x;
};

}  // namespace onward::testing
