// Models from specifications: what is wrong with one is told before anything is read, a kind of one's own is
// one call, and a model from JSON is the model that the JSON came from.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "io/scratch.hpp"
#include "onward/glm/axis_sampler.hpp"
#include "onward/glm/posterior.hpp"
#include "onward/io/npy.hpp"
#include "onward/io/vector_file.hpp"
#include "onward/model/registry.hpp"
#include "onward/onward.hpp"
#include "onward/random/stream.hpp"

namespace onward::testing {
namespace {

using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Type = Option::Type;

/// Normal measurements from a file with a known sd: the mean is sampled, under a flat prior.
ModelKind measurements() {
  return {.name = "measurements",
          .summary = "the mean of normal measurements",
          .options = {{.name = "values", .type = Type::file, .help = "a JSON array", .required = true},
                      {.name = "sd", .type = Type::number, .help = "of the noise", .otherwise = "1"},
                      {.name = "every", .type = Type::count, .help = "one of so many is used", .least = 1},
                      {.name = "scale", .type = Type::word, .words = {"linear", "log"}},
                      {.name = "cache", .type = Type::bytes},
                      {.name = "centred", .type = Type::flag, .on_by_default = true}},
          .build = [](const OptionValues& options, const BuildFor&) {
            const double sd = options.number("sd").value_or(1);
            const auto values = read_vector(options.text("values"), 1000);
            Model model(target(1,
                               [=](const auto& t) {
                                 auto sum = 0.0 * t[0];
                                 for (const double y : values) sum += (t[0] - y) * (t[0] - y);
                                 return -0.5 / (sd * sd) * sum;
                               },
                               {"mu"}));
            model.spec.options["sd"] = sd;
            model.derived["rows"] = values.size();
            return model;
          }};
}

class Registry : public Scratch {
 protected:
  Registry() {
    registry.add(measurements());
    put("values.json", "[1, 2, 6]");
  }
  ModelSpec spec(ordered_json more = ordered_json::object()) const {
    ModelSpec result{"measurements"};
    result.options["values"] = path("values.json").string();
    result.options.update(more);
    return result;
  }
  /// The options are refused as wrong usage, in words that have all the pieces.
  void refuses(const ordered_json& options, const std::vector<std::string>& pieces) const {
    ModelSpec wrong = spec(options);
    const std::string message = error_of([&] { registry.build(wrong); });
    for (const auto& piece : pieces) EXPECT_THAT(message, HasSubstr(piece));
    EXPECT_THROW(registry.build(wrong), UsageError);
  }
  ModelRegistry registry;
};

TEST_F(Registry, AKindOfOnesOwnIsBuiltFromItsFile) {
  Model model = registry.build(spec({{"sd", 2}}));
  EXPECT_THAT(model.names, ElementsAre("mu"));
  EXPECT_EQ(model.parameters().variables.at(0).name, "mu");
  const std::vector<double> at{3}, along{1};
  EXPECT_DOUBLE_EQ(model.target.jet(at, along, Order::curvature).curvature, -3.0 / 4);
  EXPECT_EQ(model.derived.at("rows"), 3);
  const onward::Run run = sample(std::move(model), {.sampler = "newton-line", .seed = 1});
  const auto mu = run.summary().at(0);
  EXPECT_NEAR(mu.mean, 3, 5.5 * mu.mcse_mean);
}

TEST_F(Registry, ASpecificationGoesThroughJsonAndBack) {
  const Model model = registry.build(spec());
  const ordered_json json = model.to_json();
  EXPECT_EQ(json.at("name"), "measurements");
  EXPECT_EQ(json.at("sd"), 1.0);  // filled in
  const std::string file = path("values.json").string();
  EXPECT_EQ(json.at("files").at(file).at("bytes"), 9);
  EXPECT_EQ(json.at("files").at(file).at("md5").get<std::string>().size(), 32u);
  const ModelSpec read = ModelSpec::from_json(ordered_json::parse(json.dump()));
  EXPECT_EQ(registry.build(read).to_json(), json);
  put("values.json", "[1, 2, 7]");
  EXPECT_THAT(error_of([&] { registry.build(read); }), AllOf(HasSubstr(file), HasSubstr("has changed")));
  std::filesystem::remove(file);
  EXPECT_THAT(error_of([&] { registry.build(read); }), AllOf(HasSubstr(file), HasSubstr("is gone")));
  EXPECT_THAT(error_of([&] { registry.build(spec()); }), HasSubstr(file));
}

TEST_F(Registry, BadSpecificationsAreNamed) {
  refuses({{"sdd", 1}}, {"measurements has no option `sdd`", "Did you mean sd?"});
  refuses({{"sd", "wide"}}, {"`sd` wide", "number"});
  refuses({{"every", 0}}, {"`every` 0", "1 or more"});
  refuses({{"every", -1}}, {"`every` -1", "1 or more"});
  refuses({{"every", 2.5}}, {"`every` 2.5", "whole number"});
  refuses({{"scale", "lin"}}, {"`scale` 'lin'", "linear or log"});
  refuses({{"scale", 3}}, {"`scale` 3", "text"});
  refuses({{"cache", "much"}}, {"`cache` much", "300M"});
  refuses({{"centred", "yes"}}, {"`centred` yes", "true or false"});
  refuses({{"values", 3}}, {"`values` 3", "text"});
  refuses({{"values", nullptr}}, {"`values` is missing", "a JSON array"});
  EXPECT_THAT(error_of([&] { registry.build({"mesurements"}); }),
              AllOf(HasSubstr("no model 'mesurements'"), HasSubstr("Did you mean measurements?"),
                    HasSubstr("funnel"), HasSubstr("glm")));
  EXPECT_THROW(registry.build({"measurements", ordered_json::array({1})}), UsageError);
  EXPECT_THROW(ModelSpec::from_json(ordered_json::array()), UsageError);
  EXPECT_THROW(ModelSpec::from_json({{"kind", "funnel"}}), UsageError);
  EXPECT_THROW(registry.add(measurements()), std::logic_error);
}

TEST_F(Registry, OptionsAreReadByTheirType) {
  const ModelKind kind = measurements();
  const OptionValues values("measurements", kind.options,
                            {{"cache", "2k"}, {"values", "v.json"}, {"every", 3}, {"centred", false}});
  EXPECT_EQ(values.bytes("cache"), 2000);
  EXPECT_EQ(values.count("every"), 3u);
  EXPECT_FALSE(values.flag("centred"));
  EXPECT_FALSE(values.has("sd"));
  EXPECT_THAT(values.files(), ElementsAre("v.json"));
  EXPECT_THROW(values.text("nonsense"), std::logic_error);
  EXPECT_EQ(parse_value(kind.options[1], "1e-3"), 1e-3);
  EXPECT_EQ(parse_value(kind.options[2], "12"), 12);
  EXPECT_THAT(error_of([&] { parse_value(kind.options[2], "1e3"); }), HasSubstr("such as 1000"));
  EXPECT_THAT(error_of([&] { parse_value(kind.options[1], ""); }), HasSubstr("`sd` ''"));
}

TEST_F(Registry, StartsAreReadForAnyKind) {
  EXPECT_EQ(registry.build(spec(), {.start = "zeros"}).start.kind, Start::Kind::zeros);
  EXPECT_EQ(registry.build(spec(), {.start = "random:0.5"}).start.scale, 0.5);
  put("start.json", "[4]");
  const Start start = registry.build(spec(), {.start = path("start.json").string()}).start;
  EXPECT_THAT(start.position, ElementsAre(4.0));
  EXPECT_EQ(start.word, "");  // the numbers themselves go into run.json
  EXPECT_THAT(error_of([&] { registry.build(spec(), {.start = "random:x"}); }), HasSubstr("random:x"));
  EXPECT_THAT(error_of([&] { registry.build(spec(), {.start = path("values.json").string()}); }),
              AllOf(HasSubstr("3 entries"), HasSubstr("1 parameters")));
}

TEST_F(Registry, BuiltInModelsAreThere) {
  EXPECT_EQ(build({"funnel", {{"dim", 3}}}).dimension(), 4u);
  EXPECT_EQ(build({"gaussian"}).dimension(), 10u);
  EXPECT_THAT(error_of([] {
                build({"eight-schools", {{"dim", 3}}});
              }),
              AllOf(HasSubstr("eight-schools has no option `dim`"), HasSubstr("It has none")));
  EXPECT_THAT(error_of([] { build({"rosenbrock", {{"dim", 3}}}); }), HasSubstr("`dim` 3 is odd"));
}

/// A regression in one line is the regression that is put together by hand, and has the same draws.
TEST_F(Registry, ARegressionFromFilesIsTheOneMadeByHand) {
  constexpr std::size_t rows = 100;
  std::vector<double> x(2 * rows), uniforms(rows), y(rows);
  Stream(3, 0).normals(0, Purpose::noise, x);
  Stream(3, 0).uniforms(1, Purpose::noise, uniforms);
  for (std::size_t i = 0; i < rows; ++i) y[i] = uniforms[i] < 1 / (1 + std::exp(-x[2 * i])) ? 1 : 0;
  const auto save = [&](const std::string& name, const std::vector<double>& values,
                        std::vector<std::size_t> shape) {
    NpyArray array;
    array.shape = std::move(shape);
    array.dtype = detail::npy_dtype<double>();
    array.data.resize(values.size() * sizeof(double));
    std::memcpy(array.data.data(), values.data(), array.data.size());
    write_npy(path(name), array);
    return path(name).string();
  };
  const ModelSpec by_words{"glm",
                           {{"x", save("x.npy", x, {rows, 2})},
                            {"y", save("y.npy", y, {rows})},
                            {"family", "bernoulli"},
                            {"prior", "normal:2"}}};
  const RunSettings settings{.draws = 50, .chains = 2, .seed = 4};
  const onward::Run run = sample(build(by_words), settings);
  EXPECT_EQ(run.settings.sampler, glm::AxisChainMaker::sampler);

  auto design = std::make_shared<glm::Design>(glm::Design::from_rows(
      rows, 2, true, [&](std::size_t i, std::span<double> row) { std::copy_n(&x[2 * i], 2, row.begin()); }));
  auto observations = std::make_shared<glm::Observations>(glm::Family::bernoulli, y, glm::RowOptions{});
  const onward::Run by_hand =
      glm::sample_axes(glm::RegressionPosterior(std::move(design), std::move(observations),
                                                {.coefficients = glm::Prior::normal(0, 2)}),
                       settings);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(run.chains[c].values, by_hand.chains[c].values);

  // Its relaxation is its own unless one is given, and a kernel's is 1.
  const auto relaxation = [](const onward::Run& of) { return of.settings.sampler_options.at("relaxation"); };
  EXPECT_EQ(relaxation(run), glm::AxisOptions{}.relaxation);
  EXPECT_EQ(
      relaxation(sample(build(by_words),
                        {.sampler_options = {{"relaxation", 1.1}}, .draws = 5, .chains = 1, .seed = 4})),
      1.1);
  EXPECT_EQ(
      relaxation(sample(build(by_words), {.sampler = "newton-line", .warmup = 10, .draws = 5, .seed = 4})),
      1);
  ModelSpec gone = by_words;
  gone.options["y"] = path("none.npy").string();
  EXPECT_THAT(error_of([&] { build(gone); }), HasSubstr("none.npy"));
  gone.options.erase("y");
  EXPECT_THAT(error_of([&] { build(gone); }), HasSubstr("`y` is missing"));
}

}  // namespace
}  // namespace onward::testing
