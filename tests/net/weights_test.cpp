// Weights in files: there and back, PyTorch's names, and weights that are not this network's.

#include "onward/net/weights.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "io/npy_bytes.hpp"
#include "io/scratch.hpp"
#include "onward/io/safetensors.hpp"

namespace onward::net {
namespace {

using onward::testing::bytes_of;
using onward::testing::error_of;
using onward::testing::npy;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Layout small() {
  return Layout(
      {{2, 4, 4},
       {Conv2d{.channels = 3, .padding = 1}, BatchNorm{}, Activation{}, Flatten{}, Linear{5, false}}});
}

/// Entry i is i/8: exact in float.
std::vector<double> counted(std::size_t size) {
  std::vector<double> values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<double>(i) / 8);
  return values;
}

class Weights : public onward::testing::Scratch {
 protected:
  std::string error(const std::string& file) const {
    const std::string what = error_of([&] { read_weights(path(file), layout); });
    EXPECT_THAT(what, StartsWith(path(file).string()));
    return what;
  }
  /// All tensors of the layout, to be changed.
  std::vector<NamedFloats> tensors() {
    std::vector<NamedFloats> result;
    for (const auto* list : {&layout.parameters(), &layout.statistics()})
      for (const auto& tensor : *list)
        result.push_back({tensor.name, tensor.shape, std::span<const float>(ones).first(tensor.size)});
    return result;
  }
  const Layout layout = small();
  std::vector<float> ones = std::vector<float>(1000, 1.0f);
};

TEST_F(Weights, ComeBackAsTheyWere) {
  const std::vector<float> statistics{0.5f, -1, 2, 1, 0.25f, 4};
  const Network network(layout, statistics);
  const auto parameters = counted(layout.parameter_count());
  for (const char* file : {"a.safetensors", "a.npy"}) {
    write_weights(path(file), network, parameters);
    const auto back = read_weights(path(file), layout);
    EXPECT_EQ(back.parameters, parameters);
    EXPECT_EQ(back.statistics, statistics);
  }
  const auto file = SafeTensors::read(path("a.safetensors"));
  std::vector<std::string> names;
  for (const auto& tensor : file.tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, ::testing::ElementsAre("0.weight", "0.bias", "1.weight", "1.bias", "4.weight",
                                            "1.running_mean", "1.running_var"));
  EXPECT_THAT(file.find("0.weight")->shape, ::testing::ElementsAre(3, 2, 3, 3));
  EXPECT_THAT(file.values(*file.find("1.running_var")), ::testing::ElementsAre(1, 0.25, 4));
  EXPECT_THAT(error_of([&] { write_weights(path("b"), network, std::vector<double>(3)); }),
              HasSubstr("3 weights are too few"));
}

TEST_F(Weights, OrderAndCountersOfBatchesDoNotMatter) {
  auto list = tensors();
  std::reverse(list.begin(), list.end());
  list.push_back({"1.num_batches_tracked", {}, std::span<const float>(ones).first(1)});
  write_safetensors(path("a"), list);
  EXPECT_EQ(read_weights(path("a"), layout).parameters, std::vector<double>(layout.parameter_count(), 1.0));
}

TEST_F(Weights, OfAnotherNetworkAreRefused) {
  auto list = tensors();
  list[4].shape = {40, 6};  // as many entries, but transposed blocks
  write_safetensors(path("shape"), list);
  EXPECT_THAT(error("shape"), HasSubstr("tensor 4.weight is [40, 6], but this network's is [5, 48]"));
  list = tensors();
  list.pop_back();
  write_safetensors(path("missing"), list);
  EXPECT_THAT(error("missing"),
              AllOf(HasSubstr("no tensor 1.running_var [3]"), HasSubstr("0.weight [3, 2, 3, 3]")));
  list = tensors();
  list.push_back({"4.bias", {5}, std::span<const float>(ones).first(5)});
  write_safetensors(path("extra"), list);
  EXPECT_THAT(error("extra"), HasSubstr("a tensor 4.bias [5], which this network has not"));
  write_safetensors(path("none"), {});
  EXPECT_THAT(error("none"), HasSubstr("it holds nothing"));
  put("short.npy", npy("<f8", "(3,)", bytes_of<double>({1, 2, 3})));
  EXPECT_THAT(error("short.npy"), AllOf(HasSubstr("3 entries"), HasSubstr("303 parameters and 6 running")));
  put("matrix.npy", npy("<f8", "(2, 2)", bytes_of<double>({1, 2, 3, 4})));
  EXPECT_THAT(error("matrix.npy"), HasSubstr("shape (2, 2)"));
}

TEST_F(Weights, ThatAreNotFiniteAreRefused) {
  const Network network(layout);
  auto parameters = counted(layout.parameter_count());
  parameters[54 + 1] = NAN;
  write_weights(path("a"), network, parameters);
  EXPECT_THAT(error("a"), AllOf(HasSubstr("entry 1 (counted from 0) of tensor 0.bias is nan")));
  write_weights(path("a.npy"), network, parameters);
  EXPECT_THAT(error("a.npy"), HasSubstr("entry 55 (counted from 0) is nan"));
  parameters[55] = 1e39;  // infinite as a float
  write_weights(path("a"), network, parameters);
  EXPECT_THAT(error("a"), HasSubstr("entry 1"));
  auto list = tensors();
  const std::vector<float> negative{1, -1, 1};
  list.back().values = negative;
  write_safetensors(path("variance"), list);
  EXPECT_THAT(error("variance"), HasSubstr("1.running_var[1] is -1"));
}

TEST_F(Weights, LeCunStartHasTheRightScale) {
  const Layout wide(
      {{3, 8, 8}, {Conv2d{.channels = 200, .padding = 1}, BatchNorm{}, Activation{}, Flatten{}, Linear{3}}});
  const auto theta = lecun_start(wide, 7);
  const auto tensor = [&](std::size_t i) {
    const auto& t = wide.parameters()[i];
    return std::span<const double>(theta).subspan(t.offset, t.size);
  };
  // A mean square of n normals has relative standard deviation √(2/n): 5.5 of them, one false alarm in 3e7.
  const auto check = [&](std::span<const double> weights, double variance) {
    double sum = 0;
    for (double w : weights) sum += w * w;
    const auto n = static_cast<double>(weights.size());
    EXPECT_NEAR(sum / n / variance, 1, 5.5 * std::sqrt(2 / n));
  };
  check(tensor(0), 1.0 / 27);
  check(tensor(4), 1.0 / 12800);
  for (std::size_t zero : {1, 3, 5}) EXPECT_THAT(tensor(zero), ::testing::Each(0.0));
  EXPECT_THAT(tensor(2), ::testing::Each(1.0));
  EXPECT_EQ(lecun_start(wide, 7), theta);
  EXPECT_NE(lecun_start(wide, 8), theta);
  EXPECT_NE(lecun_start(wide, 7, 1), theta);
}

}  // namespace
}  // namespace onward::net
