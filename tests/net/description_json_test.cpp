// Networks in JSON: there and back, and every way to get it wrong, named.

#include "onward/net/description_json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "io/scratch.hpp"

namespace onward::net {
namespace {

using nlohmann::ordered_json;
using onward::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Every kind of layer, none of its numbers the default.
Description everything() {
  return {
      {3, 32, 32},
      {Conv2d{.channels = 4, .kernel_height = 5, .kernel_width = 3, .stride = 2, .padding = 1, .bias = false},
       BatchNorm{1e-3}, Activation{ActivationKind::relu}, Pool{PoolKind::max, 3, 1},
       Activation{ActivationKind::tanh}, Residual{1}, Pool{PoolKind::average, 2, 3}, Flatten{},
       Linear{7, false}, Activation{ActivationKind::gelu}, Linear{5}, Activation{ActivationKind::softplus}}};
}

/// The text of a file of a network that takes 4 numbers.
std::string with_layers(const std::string& layers) { return R"({"input": 4, "layers": [)" + layers + "]}"; }

class DescriptionJson : public onward::testing::Scratch {
 protected:
  std::string error(const std::string& text) const {
    const auto file = put("net.json", text);
    const std::string what = error_of([&] { read_layout(file); });
    EXPECT_THAT(what, StartsWith(file.string())) << text;
    return what;
  }
};

TEST_F(DescriptionJson, ComesBackAsItWas) {
  for (const auto& net : {everything(), paper_cnn(true), mlp(1, {100, 100}, 1)}) {
    const ordered_json json = to_json(net);
    EXPECT_EQ(to_json(description_from_json(json, "here")), json);
    write_description(path("net.json"), net);
    const Description back = read_description(path("net.json"));
    EXPECT_EQ(to_json(back), json);
    EXPECT_EQ(back.input, net.input);
    ASSERT_EQ(back.layers.size(), net.layers.size());
    for (std::size_t i = 0; i < net.layers.size(); ++i)
      EXPECT_EQ(kind_of(back.layers[i]), kind_of(net.layers[i]));
  }
  const auto conv = std::get<Conv2d>(description_from_json(to_json(everything()), "here").layers[0]);
  EXPECT_EQ(conv.kernel_height, 5u);
  EXPECT_EQ(conv.kernel_width, 3u);
  EXPECT_FALSE(conv.bias);
}

TEST_F(DescriptionJson, NumbersThatAreLeftOutAreTheDefaults) {
  const auto file = put("net.json", R"({"input": [3, 8, 8], "layers": [
      {"kind": "conv2d", "channels": 2, "kernel": 5}, "relu", "max-pool", {"kind": "average-pool", "size": 1},
      {"kind": "flatten"}, "batch-norm", {"kind": "linear", "outputs": 3}]})");
  const Description net = read_description(file);
  const auto& conv = std::get<Conv2d>(net.layers[0]);
  EXPECT_EQ(conv.kernel_height, 5u);
  EXPECT_EQ(conv.kernel_width, 5u);
  EXPECT_EQ(conv.stride, 1u);
  EXPECT_EQ(conv.padding, 0u);
  EXPECT_TRUE(conv.bias);
  EXPECT_EQ(std::get<Pool>(net.layers[2]).stride, 2u);
  EXPECT_EQ(std::get<Pool>(net.layers[3]).stride, 1u);  // a pool's stride is its size, as in PyTorch
  EXPECT_EQ(std::get<BatchNorm>(net.layers[5]).epsilon, BatchNorm{}.epsilon);
  EXPECT_TRUE(std::get<Linear>(net.layers[6]).bias);
  EXPECT_EQ(Layout(net).parameter_count(), 2u * 3 * 25 + 2 + 2 * 8 + 3 * 8 + 3);
}

TEST_F(DescriptionJson, MistakesAreNamed) {
  EXPECT_THAT(error("{"), HasSubstr("not valid JSON: parse error at line 1"));
  EXPECT_THAT(error("{\"input\": " + std::string(100'000, '[')), HasSubstr("nested 100001 deep"));
  EXPECT_THAT(error("[1]"), HasSubstr("holds [1]"));
  EXPECT_THAT(error(R"({"layers": ["relu"]})"), HasSubstr("no \"input\""));
  EXPECT_THAT(error(R"({"input": 4})"), HasSubstr("no \"layers\""));
  EXPECT_THAT(error(R"({"input": 4, "layer": ["relu"]})"),
              AllOf(HasSubstr("\"layer\" is not known"), HasSubstr("Did you mean layers?")));
  EXPECT_THAT(error(with_layers("")), HasSubstr("\"layers\" is []"));
  EXPECT_THAT(error(R"({"input": 4, "layers": {"kind": "relu"}})"), HasSubstr("at least one layer"));
  EXPECT_THAT(error(R"({"input": [3, 32], "layers": ["relu"]})"),
              HasSubstr("\"input\" is [3,32]: it must be a number of entries, or [channels, height, width]"));
  EXPECT_THAT(error(R"({"input": 0, "layers": ["relu"]})"), HasSubstr("\"input\" is 0"));
  EXPECT_THAT(error(R"({"input": [3, -1, 4], "layers": ["relu"]})"), HasSubstr("\"input\" is -1"));
  EXPECT_THAT(error(with_layers(R"("relu", "rellu")")),
              AllOf(HasSubstr("layer 1: there is no kind \"rellu\""), HasSubstr("Did you mean relu?")));
  EXPECT_THAT(error(with_layers("7")), HasSubstr("layer 0 is 7"));
  EXPECT_THAT(error(with_layers(R"({"outputs": 7})")), HasSubstr("layer 0: has no \"kind\""));
  EXPECT_THAT(error(with_layers(R"({"kind": 5})")), HasSubstr("there is no kind 5"));
  EXPECT_THAT(error(with_layers(R"("linear")")), HasSubstr("layer 0 (linear): has no \"outputs\""));
  EXPECT_THAT(error(with_layers(R"({"kind": "linear", "output": 3})")),
              AllOf(HasSubstr("has no \"outputs\""), HasSubstr("it has \"output\", which is not known")));
  EXPECT_THAT(error(with_layers(R"({"kind": "linear", "outputs": 3, "biass": true})")),
              AllOf(HasSubstr("layer 0 (linear): \"biass\" is not known"), HasSubstr("Did you mean bias?")));
  EXPECT_THAT(error(with_layers(R"({"kind": "linear", "outputs": 3, "bias": 1})")),
              HasSubstr("\"bias\" is 1: it must be true or false"));
  EXPECT_THAT(error(with_layers(R"({"kind": "linear", "outputs": 2.5})")), HasSubstr("\"outputs\" is 2.5"));
  EXPECT_THAT(error(with_layers(R"({"kind": "linear", "outputs": 0})")), HasSubstr("\"outputs\" is 0"));
  EXPECT_THAT(error(with_layers(R"({"kind": "linear", "outputs": 18446744073709551615})")),
              HasSubstr("whole number from 1 to 1000000"));
  EXPECT_THAT(error(with_layers(R"({"kind": "batch-norm", "epsilon": 0})")), HasSubstr("\"epsilon\" is 0"));
  EXPECT_THAT(error(with_layers(R"({"kind": "conv2d", "channels": 2, "kernel": [3]})")),
              HasSubstr("\"kernel\" is [3]"));
  EXPECT_THAT(error(with_layers(R"({"kind": "relu", "size": 2})")), HasSubstr("\"size\" is not known here"));
  // A value that fills a page is cut short.
  EXPECT_THAT(error(with_layers(fmt::format("[\"{:500}\"]", ""))).size(), ::testing::Lt(400u));
  EXPECT_THAT(error_of([&] { read_description(path("none.json")); }), HasSubstr("none.json"));
}

TEST_F(DescriptionJson, ShapesThatDoNotFitNameTheLayer) {
  EXPECT_THAT(error(R"({"input": [3, 8, 8], "layers": ["relu", {"kind": "linear", "outputs": 2}]})"),
              HasSubstr("layer 1 (linear) is given 3x8x8: it needs a vector"));
  EXPECT_THAT(error(R"({"input": [3, 8, 8], "layers": [{"kind": "conv2d", "channels": 1, "kernel": 9}]})"),
              HasSubstr("layer 0 (conv2d)"));
  EXPECT_THAT(error(with_layers(R"({"kind": "linear", "outputs": 3}, {"kind": "residual", "layers": 1})")),
              HasSubstr("layer 1 (residual)"));
  // Sizes that no machine holds are refused before anything of that size is made.
  EXPECT_THAT(error(R"({"input": [1000000, 1000000, 1000000], "layers": ["flatten",
                        {"kind": "linear", "outputs": 1000000}]})"),
              AllOf(HasSubstr("layer 1 (linear)"), HasSubstr("entries")));
}

}  // namespace
}  // namespace onward::net
