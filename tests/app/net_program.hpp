#pragma once
// Data and networks for tests of `onward sample net`.

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "onward/io/npy.hpp"
#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {

class Net : public Program {
 protected:
  static constexpr std::size_t rows = 60;

  template <class T>
  void save(const std::string& name, const std::vector<T>& values,
            std::vector<std::size_t> shape = {}) const {
    NpyArray array;
    array.shape = shape.empty() ? std::vector{values.size()} : std::move(shape);
    array.dtype = detail::npy_dtype<T>();
    array.data.resize(values.size() * sizeof(T));
    std::memcpy(array.data.data(), values.data(), array.data.size());
    write_npy(path(name), array);
  }

  /// Draws do not depend on whether activations are kept. Leaves the runs "kept" and "recomputed".
  void expect_same_kept_or_not(const std::string& words) const {
    sampled(words + " --out kept");
    sampled(words + " --keep-activations 0 --out recomputed");
    EXPECT_EQ(get(path("kept/chain-1.npy")), get(path("recomputed/chain-1.npy")));
  }

  /// Two inputs; y is linear with noise, classes are its sign; and small images of two brightnesses.
  void SetUp() override {
    const Stream stream(5, 0);
    std::vector<double> x(2 * rows), noise(rows), y(rows);
    stream.normals(0, Purpose::noise, x);
    stream.normals(1, Purpose::noise, noise);
    std::vector<std::int64_t> classes(rows);
    std::vector<std::uint8_t> pixels(rows * 16);
    for (std::size_t i = 0; i < rows; ++i) {
      y[i] = 0.5 + x[2 * i] - 0.5 * x[2 * i + 1] + 0.3 * noise[i];
      classes[i] = y[i] > 0 ? 1 : 0;
      for (std::size_t j = 0; j < 16; ++j)
        pixels[16 * i + j] = static_cast<std::uint8_t>(100 * classes[i] + static_cast<std::int64_t>(j));
    }
    save("x.npy", x, {rows, 2});
    save("y.npy", y);
    save("classes.npy", classes);
    save("images.npy", pixels, {rows, 1, 4, 4});
    put("linear.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 1}]})");
    put("tanh.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 4}, "tanh",
                                                {"kind": "linear", "outputs": 1}]})");
    put("large.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 300}, "relu",
                                                 {"kind": "linear", "outputs": 1}]})");
    put("two.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 2}]})");
    put("conv.json",
        R"({"input": [1, 4, 4], "layers": [{"kind": "conv2d", "channels": 2, "padding": 1}, "batch-norm",
                         "relu", "max-pool", "flatten", {"kind": "linear", "outputs": 2}]})");
  }

  nlohmann::json sampled(const std::string& words) const {
    const Outcome outcome = onward("sample " + words + " --seed 1 --quiet --json");
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.err;
    return outcome.code == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
  }
};

}  // namespace onward::testing
