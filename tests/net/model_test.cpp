// Networks from specifications with everything in memory: layers as JSON, data as arrays.

#include "onward/net/model.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "io/scratch.hpp"
#include "onward/model/registry.hpp"
#include "onward/net/description_json.hpp"
#include "onward/net/predictive.hpp"
#include "onward/net/weights.hpp"
#include "onward/onward.hpp"

namespace onward::net {
namespace {

using onward::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class NetModel : public onward::testing::Scratch {
 protected:
  NetModel() { register_models(registry); }

  Model build(const Description& layers, nlohmann::ordered_json options,
              std::map<std::string, Array> arrays) const {
    options["net"] = to_json(layers);
    for (const auto& [name, array] : arrays) options[name] = "memory:" + name;
    return registry.build({"net", std::move(options)}, {.arrays = std::move(arrays)});
  }
  /// Images of 3x4x4 in 2 classes.
  static std::map<std::string, Array> images(std::size_t count) {
    std::vector<std::uint8_t> pixels(48 * count), labels(count);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
    for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::uint8_t>(i % 2);
    return {{"x", Array::of(pixels, {count, 3, 4, 4})}, {"y", Array::of(labels)}};
  }
  static Description image_net() { return {{3, 4, 4}, {Flatten{}, Linear{3}, Activation{}, Linear{2}}}; }

  ModelRegistry registry;
};

TEST_F(NetModel, ARegressionIsTheOneMadeByHand) {
  const std::vector<float> x{-1, -0.5f, 0, 0.5f, 1, 2}, y{0.5f, 0.25f, 0, -0.25f, -0.5f, 1},
      new_x{0.1f, 0.2f, 0.3f};
  const Description layers = mlp(1, {4}, 1, ActivationKind::tanh);
  const Model model = build(layers, {{"sigma", 0.3}, {"prior_sd", 2}, {"show_rows", 2}},
                            {{"x", Array::of(x)}, {"y", Array::of(y)}, {"test_x", Array::of(new_x)}});
  EXPECT_EQ(model.names.size(), 2u);  // of the three
  EXPECT_EQ(model.spec.options.at("net"), to_json(layers));
  EXPECT_EQ(model.spec.files.at("memory:test_x").at("shape"), nlohmann::ordered_json({3}));

  const RunSettings settings{.sampler = "pc-line-fmala", .warmup = 50, .draws = 20, .thin = 2, .seed = 5};
  const onward::Run ours = sample(model, settings);
  const NetworkPosterior by_hand(std::make_shared<Network>(Layout(layers)),
                                 {Inputs::values({1, 1, 1}, x), Answers::values(1, y)},
                                 {.prior_sd = 2, .known_sigma = 0.3});
  RunSettings same = settings;
  const StartLaw law = lecun_law(Layout(layers));
  same.start = {.kind = Start::Kind::given, .position = law.centre, .spread = law.spread};
  const onward::Run theirs = sample(PredictionView(by_hand, Inputs::values({1, 1, 1}, {0.1f, 0.2f})), same);
  for (std::size_t c = 0; c < ours.chains.size(); ++c)
    EXPECT_EQ(ours.chains[c].values, theirs.chains[c].values);

  // The layers are in the specification, so that no file has to be kept for another such model.
  const ModelSpec again = ModelSpec::from_json(model.to_json());
  EXPECT_THAT(error_of([&] { registry.build(again); }), HasSubstr("`x` memory:x"));
}

TEST_F(NetModel, PixelsAreUsedWhereTheyAreAndMeasuredByTheirChannels) {
  auto arrays = images(6);
  const Array pixels = arrays.at("x");
  const long before = pixels.owner.use_count();
  const Model model = build(image_net(), {{"pixel_mean", "0.5,0.4,0.3"}, {"pixel_sd", "0.25,0.2,1"}}, arrays);
  EXPECT_GT(pixels.owner.use_count(), before + 1);  // besides `arrays`: nothing was copied
  const NetworkPosterior posterior = posterior_of(model);
  std::vector<float> row(48);
  posterior.data().inputs.read_channels_last(1, 1, row.data());
  const auto p = [&](std::size_t i) { return static_cast<float>(pixels.as<std::uint8_t>()[48 + i]) / 255; };
  EXPECT_FLOAT_EQ(row[0], (p(0) - 0.5f) / 0.25f);
  EXPECT_FLOAT_EQ(row[1], (p(16) - 0.4f) / 0.2f);
  EXPECT_FLOAT_EQ(row[2], p(32) - 0.3f);

  const auto refusal = [&](const nlohmann::ordered_json& options) {
    return error_of([&] { build(image_net(), options, arrays); });
  };
  EXPECT_THAT(refusal({{"pixel_mean", "0.5,0.4,0.3"}}), HasSubstr("give both or neither"));
  EXPECT_THAT(refusal({{"pixel_mean", "0.5,0.4"}, {"pixel_sd", "1,1"}}),
              AllOf(HasSubstr("`pixel_mean` has 2 numbers"), HasSubstr("3 channels")));
  EXPECT_THAT(refusal({{"pixel_mean", "0.5,0.4,0.3"}, {"pixel_sd", "1,1"}}), HasSubstr("as many"));
  EXPECT_THAT(refusal({{"pixel_mean", "0.5,,1"}, {"pixel_sd", "1,1,1"}}), HasSubstr("0.5,,1 is not usable"));
  EXPECT_THAT(refusal({{"pixel_mean", "0.5,0,0"}, {"pixel_sd", "1,1,0"}}), HasSubstr("sd of channel 2 is 0"));
  EXPECT_THAT(refusal({{"show_rows", 7}}), HasSubstr("`show_rows` 7"));
}

TEST_F(NetModel, LayersInASpecificationAreCheckedAsThoseOfAFile) {
  const auto refusal = [&](const nlohmann::ordered_json& net) {
    return error_of([&] {
      registry.build({"net", {{"net", net}, {"x", "memory:x"}, {"y", "memory:y"}}}, {.arrays = images(2)});
    });
  };
  EXPECT_THAT(refusal({{"input", {3, 4, 4}}}), HasSubstr("`net`"));
  auto layers = nlohmann::ordered_json::array();
  layers.push_back({{"kind", "linear"}, {"outputs", 2}});
  EXPECT_THAT(refusal({{"input", {3, 4, 4}}, {"layers", layers}}),
              AllOf(HasSubstr("`net`"), HasSubstr("layer 0")));
  EXPECT_THAT(refusal(7), HasSubstr("the name of a file, or a JSON object"));
  EXPECT_THAT(error_of([] { posterior_of(onward::build({"funnel"})); }), HasSubstr("funnel is no network"));
}

}  // namespace
}  // namespace onward::net
